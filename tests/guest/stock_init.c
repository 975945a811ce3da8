// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first program of a guest with a distribution's kernel, in its initramfs:
 * loads /modules/00.ko, 01.ko, ..., mounts the host's root over 9p, and runs the
 * shell there with the command that qemu.py gives.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

static int failed(const char *what)
{
	fprintf(stderr, "stock_init: %s: %s\n", what, strerror(errno));
	return 1;
}

int main(int argc, char **argv)
{
	char path[32];
	int i, fd;

	for (i = 0;; i++) {
		snprintf(path, sizeof(path), "/modules/%02d.ko", i);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			break;
		if (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST)
			return failed(path);
		close(fd);
	}

	if (mount("root", "/host", "9p", MS_RDONLY,
		  "trans=virtio,version=9p2000.L,msize=262144,cache=loose"))
		return failed("9p");
	if (chdir("/host") || mount(".", "/", NULL, MS_MOVE, NULL) ||
	    chroot(".") || chdir("/"))
		return failed("root");

	/* The kernel passes what it does not know itself before "-c" */
	for (i = 1; i < argc; i++)
		if (!strcmp(argv[i], "-c"))
			execv("/bin/sh", argv + i - 1);

	return failed("/bin/sh");
}
