// SPDX-License-Identifier: GPL-2.0-only
/*
 * LD_PRELOAD library that makes iperf3 wait inside the kernel instead of
 * polling. Built with -shared -fPIC.
 *
 * In User Mode Linux, returning from the guest's kernel to a program costs more
 * than all other processing of a segment.
 *
 * A receiver calls select() and read() for every segment that arrives. Here a
 * large read() waits, for at most 10 ms, until its buffer is full. TCP still
 * wakes the reader for each segment and still takes each one immediately, so its
 * ACKs stay the same; only the return to the program is saved. iperf3 does not
 * look at the data, so that it is not copied (MSG_TRUNC).
 *
 * A sender calls write() ten times per select(). When the socket is full, the
 * remaining calls fail here, without entering the kernel.
 *
 * iperf3 reads the clock when it has read or written, and again when it begins to
 * wait. Here both get the same time.
 *
 * A sender that waits for the other side to begin or to end calls select()
 * repeatedly, which reports that it may write, but it does not. Here select()
 * takes up to 1 ms if nothing has been written since the last call, even if timers
 * of iperf3 are due. iperf3 does not run its timers meanwhile, and a sender with a
 * rate does not ask whether it may write: it would otherwise poll while virtual
 * time stands still.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK_BYTES = 16384, SOCKETS = 1024, READ_US = 10000, ASK_US = 1000 };

/* What iperf3 reads and writes at once; its messages are shorter. */
enum { DATA_BYTES = 131072 };

static bool written = true;

/* The last time that was read, until it is read again or a call may have waited. */
static struct timespec last_time;
static clockid_t last_clock = -1;

/* State of each file descriptor, until it is closed. */
static struct {
	bool asked, is_tcp, waits, has_data, is_full;
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

/* Whether a read is of data, not of messages, which iperf3 needs entirely. */
static bool is_data(int fd, size_t bytes)
{
	if (bytes < BLOCK_BYTES || fd < 0 || fd >= SOCKETS || !is_tcp(fd))
		return false;
	known[fd].has_data |= bytes >= DATA_BYTES;
	return known[fd].has_data;
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

	last_clock = -1;
	if (is_data(fd, bytes)) {
		make_blocking(fd);
		return recv(fd, buffer, bytes, MSG_WAITALL | MSG_TRUNC);
	}
	if (!next)
		next = dlsym(RTLD_NEXT, "read");
	return next(fd, buffer, bytes);
}

ssize_t write(int fd, const void *buffer, size_t bytes)
{
	static ssize_t (*next)(int, const void *, size_t);
	ssize_t length;

	if (!next)
		next = dlsym(RTLD_NEXT, "write");
	written = true;
	if (fd < 0 || fd >= SOCKETS)
		return next(fd, buffer, bytes);
	if (known[fd].is_full) {
		errno = EAGAIN;
		return -1;
	}
	last_clock = -1;
	length = next(fd, buffer, bytes);
	known[fd].is_full = bytes >= DATA_BYTES &&
			    (length < 0 ? errno == EAGAIN :
					  (size_t)length < bytes);
	return length;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	static int (*next)(clockid_t, struct timespec *);

	if (!next)
		next = dlsym(RTLD_NEXT, "clock_gettime");
	if (clock == last_clock) {
		last_clock = -1;
		*time = last_time;
		return 0;
	}
	if (next(clock, time))
		return -1;
	last_clock = clock;
	last_time = *time;
	return 0;
}

static bool is_empty(const fd_set *set)
{
	static const fd_set none;

	return !memcmp(set, &none, sizeof(none));
}

int select(int nfds, fd_set *reads, fd_set *writes, fd_set *errors,
	   struct timeval *timeout)
{
	static int (*next)(int, fd_set *, fd_set *, fd_set *, struct timeval *);
	static bool was_due;
	bool due = timeout && !timerisset(timeout), stuck = due && was_due;
	int fd;

	if (!next)
		next = dlsym(RTLD_NEXT, "select");
	for (fd = 0; fd < nfds && fd < SOCKETS; fd++)
		known[fd].is_full = false;
	last_clock = -1;
	if (reads && writes && !written && (stuck || !is_empty(writes))) {
		struct timeval wait = { .tv_usec = ASK_US };
		fd_set ready = *reads;

		if (timeout && timercmp(timeout, &wait, <) && !stuck)
			wait = *timeout;
		next(nfds, &ready, NULL, NULL, &wait);
	}
	was_due = due;
	written = false;
	return next(nfds, reads, writes, errors, timeout);
}
