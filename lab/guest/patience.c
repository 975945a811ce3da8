// SPDX-License-Identifier: GPL-2.0-only
/*
 * LD_PRELOAD library: iperf3 waits inside the kernel instead of polling. Built
 * with -shared -fPIC.
 *
 * A system call leaves the guest's kernel, which in User Mode Linux costs more
 * than all else that happens to a segment.
 *
 * A receiver calls select() and read() for every segment that arrives. Here a
 * large read() waits, for at most 10 ms, until its buffer is full. TCP still
 * wakes the reader for each segment and still copies each at once, so what it
 * acknowledges stays the same; only the way out to the program is saved.
 *
 * A sender that waits for the other side to begin asks select() again and
 * again whether it may write, is told yes, and does not. Here, when nothing has
 * been written since it last asked, the answer takes up to 1 ms. It does so even
 * where its timers are due, which it does not run before the other side begins:
 * where that takes longer than a second, it would ask forever in no time.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { BLOCK_BYTES = 16384, SOCKETS = 1024, READ_US = 10000, ASK_US = 1000 };

static bool written = true;

/* What is known of a file descriptor until it is closed. */
static struct {
	bool asked, is_tcp, waits;
} known[SOCKETS];

static void make_blocking(int fd)
{
	const struct timeval limit = { .tv_usec = READ_US };

	if (known[fd].waits)
		return;
	known[fd].waits = true;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
}

static bool is_tcp(int fd)
{
	int protocol = 0;
	socklen_t length = sizeof(protocol);

	if (!known[fd].asked) {
		known[fd].asked = true;
		known[fd].is_tcp = !getsockopt(fd, SOL_SOCKET, SO_PROTOCOL,
					       &protocol, &length) &&
				   protocol == IPPROTO_TCP;
	}
	return known[fd].is_tcp;
}

int close(int fd)
{
	static int (*next)(int);

	if (!next)
		next = dlsym(RTLD_NEXT, "close");
	if (fd >= 0 && fd < SOCKETS)
		memset(&known[fd], 0, sizeof(known[fd]));
	return next(fd);
}

ssize_t read(int fd, void *buffer, size_t bytes)
{
	static ssize_t (*next)(int, void *, size_t);

	if (bytes >= BLOCK_BYTES && fd >= 0 && fd < SOCKETS && is_tcp(fd)) {
		make_blocking(fd);
		return recv(fd, buffer, bytes, MSG_WAITALL);
	}
	if (!next)
		next = dlsym(RTLD_NEXT, "read");
	return next(fd, buffer, bytes);
}

ssize_t write(int fd, const void *buffer, size_t bytes)
{
	static ssize_t (*next)(int, const void *, size_t);

	if (!next)
		next = dlsym(RTLD_NEXT, "write");
	written = true;
	return next(fd, buffer, bytes);
}

int select(int count, fd_set *reads, fd_set *writes, fd_set *errors,
	   struct timeval *timeout)
{
	static int (*next)(int, fd_set *, fd_set *, fd_set *, struct timeval *);
	static bool was_due;
	bool due = timeout && !timerisset(timeout);

	if (!next)
		next = dlsym(RTLD_NEXT, "select");
	if (reads && writes && !written) {
		struct timeval patience = { .tv_usec = ASK_US };
		fd_set waited = *reads;

		if (timeout && timercmp(timeout, &patience, <) &&
		    !(due && was_due))
			patience = *timeout;
		next(count, &waited, NULL, NULL, &patience);
	}
	was_due = due;
	written = false;
	return next(count, reads, writes, errors, timeout);
}
