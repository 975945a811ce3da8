// SPDX-License-Identifier: GPL-2.0-only
/*
 * node NAME [VARIABLE=VALUE]... PROGRAM [ARGUMENT]...
 *
 * Run a program in a node of the network, a network namespace created by `ip
 * netns add`. As with `ip netns exec`, it sees the node's interfaces, also in
 * /sys. In User Mode Linux the cost of a program is mapping its memory, and ip
 * has many libraries: it takes four times as long.
 */
#define _GNU_SOURCE
#include <sys/mount.h>
#include <unistd.h>

#include "namespace.h"
#include "program.h"

static void enter(const char *name)
{
	enter_namespace(name);
	/* /sys shows the network namespace of the process that mounted it. */
	if (unshare(CLONE_NEWNS) ||
	    mount("", "/", "none", MS_SLAVE | MS_REC, NULL) ||
	    umount2("/sys", MNT_DETACH) ||
	    mount(name, "/sys", "sysfs", 0, NULL))
		fail("/sys");
}

int main(int argc, char **argv)
{
	int i = 2, code;

	while (i < argc && strchr(argv[i], '='))
		putenv(argv[i++]);
	if (i >= argc) {
		fputs("usage: node NAME [VARIABLE=VALUE]... PROGRAM [ARGUMENT]...\n",
		      stderr);
		return 2;
	}
	enter(argv[1]);
	execvp(argv[i], argv + i);
	/* As in a shell */
	code = errno == ENOENT ? 127 : 126;
	perror(argv[i]);
	return code;
}
