// SPDX-License-Identifier: GPL-2.0-only
/*
 * set_policy POLICY: give all TCP sockets of this network namespace an ACK policy.
 *
 * The sysctl is for sockets created later. Existing ones, of any process, are
 * changed with the socket option, through a copy of their descriptor. A process
 * or descriptor that disappears in the meantime is skipped.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "program.h"

#define TCP_ACK_POLICY	47	/* include/uapi/linux/tcp.h */
#define MAX_LINK	64	/* "net:[4026531840]", or "socket:" and a number */

/* Read a symbolic link and return whether it exists; longer targets are cut. */
static bool read_link(int directory, const char *name, char target[MAX_LINK])
{
	ssize_t length = readlinkat(directory, name, target, MAX_LINK - 1);

	target[length < 0 ? 0 : length] = '\0';
	return length >= 0;
}

static void set_socket(int holder, int fd, const char *policy)
{
	int copy = pidfd_getfd(holder, fd, 0);
	int protocol = 0;
	socklen_t length = sizeof(protocol);

	if (copy < 0) {
		if (errno == EBADF || errno == ESRCH)
			return;
		fail("copying a descriptor");
	}
	if (getsockopt(copy, SOL_SOCKET, SO_PROTOCOL, &protocol, &length))
		fail("SO_PROTOCOL");
	if (protocol == IPPROTO_TCP &&
	    setsockopt(copy, IPPROTO_TCP, TCP_ACK_POLICY, policy,
		       strlen(policy)))
		fail(policy);
	close(copy);
}

static void set_process(int process, int pid, const char *policy)
{
	int descriptors = openat(process, "fd", O_RDONLY | O_DIRECTORY);
	int holder = pidfd_open(pid, 0);
	char target[MAX_LINK];
	struct dirent *entry;
	DIR *listing;

	if (descriptors < 0 || holder < 0)
		return;
	listing = fdopendir(descriptors);
	if (!listing)
		fail("/proc");
	while ((entry = readdir(listing))) {
		if (read_link(descriptors, entry->d_name, target) &&
		    !strncmp(target, "socket:", strlen("socket:")))
			set_socket(holder, atoi(entry->d_name), policy);
	}
	closedir(listing);
	close(holder);
}

int main(int argc, char **argv)
{
	char here[MAX_LINK], there[MAX_LINK];
	struct dirent *entry;
	DIR *processes;

	if (argc != 2) {
		fputs("usage: set_policy POLICY\n", stderr);
		return 2;
	}
	processes = opendir("/proc");
	if (!processes || !read_link(dirfd(processes), "self/ns/net", here))
		fail("/proc");
	while ((entry = readdir(processes))) {
		int pid = atoi(entry->d_name);
		int process;

		if (!pid || pid == getpid())
			continue;
		process = openat(dirfd(processes), entry->d_name, O_PATH);
		if (read_link(process, "ns/net", there) && !strcmp(here, there))
			set_process(process, pid, argv[1]);
		close(process);
	}
	return 0;
}
