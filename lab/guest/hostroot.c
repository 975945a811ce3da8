// SPDX-License-Identifier: GPL-2.0-only
/*
 * hostroot PROGRAM [ARGUMENT]...: run a program of the host.
 *
 * The root file system of the program is the host's, read-only, with the guest's
 * /dev, /proc, /run, /sys and /tmp. That of the guest is at /run/guest.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program.h"

#define ROOT	"/run/host"
#define GUEST	"/run/guest"

static const char *const shared[] = { "/dev", "/proc", "/run", "/sys", "/tmp" };

static void make_directory(const char *path)
{
	if (mkdir(path, 0755) && errno != EEXIST)
		fail(path);
}

static void enter(void)
{
	char directory[PATH_MAX], place[64];
	size_t i;

	if (!getcwd(directory, sizeof(directory)))
		fail("the working directory");
	make_directory(ROOT);
	make_directory(GUEST);
	if (unshare(CLONE_NEWNS) ||
	    mount("", "/", "none", MS_SLAVE | MS_REC, NULL) ||
	    mount("/", GUEST, NULL, MS_BIND, NULL) ||
	    mount("none", ROOT, "hostfs", MS_RDONLY | MS_NOATIME, "/"))
		fail(ROOT);
	for (i = 0; i < sizeof(shared) / sizeof(*shared); i++) {
		snprintf(place, sizeof(place), "%s%s", ROOT, shared[i]);
		if (mount(shared[i], place, NULL, MS_BIND | MS_REC, NULL))
			fail(shared[i]);
	}
	if (chroot(ROOT) || chdir(directory))
		fail(directory);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fputs("usage: hostroot PROGRAM [ARGUMENT]...\n", stderr);
		return 2;
	}
	enter();
	execvp(argv[1], argv + 1);
	fail(argv[1]);
	return 1;
}
