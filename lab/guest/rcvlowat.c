// SPDX-License-Identifier: GPL-2.0-only
/*
 * LD_PRELOAD library: sets SO_RCVLOWAT on every TCP socket that is accepted or
 * connected to $RCVLOWAT_BYTES, so that a bulk receiver wakes once a block
 * instead of once a segment. Built with -shared -fPIC.
 *
 * iperf3's control connection carries messages of a few bytes and would wait
 * for ever, so a socket gets the mark only when $RCVLOWAT_SKIP (default 0)
 * sockets have been let through before it: 1 for iperf3.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static atomic_int seen;

static int number(const char *name)
{
	const char *text = getenv(name);

	return text ? atoi(text) : 0;
}

static void mark(int fd)
{
	int bytes = number("RCVLOWAT_BYTES");
	int protocol = 0;
	socklen_t length = sizeof(protocol);

	if (bytes <= 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) ||
	    protocol != IPPROTO_TCP)
		return;
	if (atomic_fetch_add(&seen, 1) < number("RCVLOWAT_SKIP"))
		return;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes)))
		perror("rcvlowat: SO_RCVLOWAT");
}

int accept(int fd, struct sockaddr *address, socklen_t *length)
{
	static int (*next)(int, struct sockaddr *, socklen_t *);
	int accepted;

	if (!next)
		next = dlsym(RTLD_NEXT, "accept");
	accepted = next(fd, address, length);
	if (accepted >= 0)
		mark(accepted);
	return accepted;
}

int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
	static int (*next)(int, struct sockaddr *, socklen_t *, int);
	int accepted;

	if (!next)
		next = dlsym(RTLD_NEXT, "accept4");
	accepted = next(fd, address, length, flags);
	if (accepted >= 0)
		mark(accepted);
	return accepted;
}

int connect(int fd, const struct sockaddr *address, socklen_t length)
{
	static int (*next)(int, const struct sockaddr *, socklen_t);

	if (!next)
		next = dlsym(RTLD_NEXT, "connect");
	mark(fd);
	return next(fd, address, length);
}
