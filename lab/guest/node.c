// SPDX-License-Identifier: GPL-2.0-only
/*
 * node NAME [VARIABLE=VALUE]... PROGRAM [ARGUMENT]...
 *
 * Run a program in a node of the network, a network namespace that `ip netns
 * add` has made. It finds there what it finds under `ip netns exec`: the node's
 * interfaces, also in /sys. In User Mode Linux a program costs what it makes the
 * kernel map, and ip has many libraries: it takes four times as long.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "program.h"

#define NAMESPACES "/run/netns"

static void enter(const char *name)
{
	int directory = open(NAMESPACES, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || setns(fd, CLONE_NEWNET))
		fail(name);
	/* /sys shows the network of whoever has mounted it. */
	if (unshare(CLONE_NEWNS) ||
	    mount("", "/", "none", MS_SLAVE | MS_REC, NULL) ||
	    umount2("/sys", MNT_DETACH) ||
	    mount(name, "/sys", "sysfs", 0, NULL))
		fail("/sys");
}

int main(int count, char **words)
{
	int i = 2;

	while (i < count && strchr(words[i], '='))
		putenv(words[i++]);
	if (i >= count) {
		fputs("usage: node NAME [VARIABLE=VALUE]... PROGRAM [ARGUMENT]...\n",
		      stderr);
		return 2;
	}
	enter(words[1]);
	execvp(words[i], words + i);
	fail(words[i]);
	return 1;
}
