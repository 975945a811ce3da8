// SPDX-License-Identifier: GPL-2.0-only
/*
 * LD_PRELOAD library: lets iperf3's receiver wait for a whole block inside the
 * kernel. Built with -shared -fPIC.
 *
 * iperf3 calls select() and read() for every segment that arrives. Each call
 * leaves the guest's kernel, which in User Mode Linux costs more than all else
 * that happens to the segment. Here a large read() waits, for at most 10 ms,
 * until its buffer is full. TCP still wakes the reader for each segment and
 * still copies each at once, so what it acknowledges stays the same; only the
 * way out to the program and back is saved.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { BLOCK_BYTES = 16384, SOCKETS = 1024, PATIENCE_US = 10000 };

static void make_blocking(int fd)
{
	static bool done[SOCKETS];
	const struct timeval patience = { .tv_usec = PATIENCE_US };

	if (done[fd])
		return;
	done[fd] = true;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
}

static bool is_tcp(int fd)
{
	int protocol = 0;
	socklen_t length = sizeof(protocol);

	return !getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) &&
	       protocol == IPPROTO_TCP;
}

ssize_t read(int fd, void *buffer, size_t bytes)
{
	static ssize_t (*next)(int, void *, size_t);

	if (bytes >= BLOCK_BYTES && fd < SOCKETS && is_tcp(fd)) {
		make_blocking(fd);
		return recv(fd, buffer, bytes, MSG_WAITALL);
	}
	if (!next)
		next = dlsym(RTLD_NEXT, "read");
	return next(fd, buffer, bytes);
}
