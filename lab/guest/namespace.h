/* SPDX-License-Identifier: GPL-2.0-only */
/* Network namespaces with names, as `ip netns` keeps them. Needs _GNU_SOURCE. */
#ifndef AIRTCP_NAMESPACE_H
#define AIRTCP_NAMESPACE_H

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "program.h"

#define NAMESPACES	"/run/netns"

/* Move this process to the namespace; exit with status 1 if there is none. */
static inline void enter_namespace(const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), NAMESPACES "/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		fail(path);
	close(fd);
}

#endif
