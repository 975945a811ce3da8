// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keep a radio's queue full of UDP datagrams, or take them.
 *
 *	saturate send ADDRESS PORT OCTETS SECONDS [TOS [BUFFER]]
 *	saturate sink PORT
 *
 * send: datagrams of OCTETS octets for SECONDS, then prints "sent N". They are
 * charged to a send buffer of BUFFER octets until the radio is done with them.
 * When it is full the program sleeps in the kernel, which wakes it when half
 * of it is free: few, long batches. What is left in the buffer at the end is
 * still transmitted.
 *
 * sink: prints "ready" and never reads. When its small buffer is full the
 * kernel drops what arrives, which is all that has to happen to it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "program.h"

#define MAX_OCTETS	65507
/* The kernel takes no more in one sendmmsg(). */
#define BATCH		1024
/*
 * Four of the longest A-MPDUs: 256 datagrams of 1500 octets, for each of which
 * the kernel charges up to 2816.
 */
#define DEFAULT_BUFFER	(4 * 256 * 2816)
/* The kernel charges at least so much beyond the payload: sk_buff and tail. */
#define LEAST_OVERHEAD	512
/* Less time than any radio takes for the smallest part of a batch. */
#define INSTANT_NS	100000
#define PAUSE_NS	1000000

static volatile sig_atomic_t expired;

static void expire(int signal)
{
	(void)signal;
	expired = 1;
}

static void usage(void)
{
	fputs("usage: saturate send ADDRESS PORT OCTETS SECONDS [TOS [BUFFER]]\n"
	      "       saturate sink PORT\n", stderr);
	exit(2);
}

static struct timeval duration(const char *text)
{
	char *end;
	double seconds = strtod(text, &end);
	struct timeval value;

	if (end == text || *end || !(seconds >= 0.001 && seconds <= 1e6)) {
		fprintf(stderr,
			"saturate: %s: 0.001 to 1000000 seconds are allowed\n",
			text);
		exit(2);
	}
	value.tv_sec = seconds;
	value.tv_usec = (seconds - value.tv_sec) * 1e6;
	return value;
}

static int open_socket(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		fail("opening a socket");
	return fd;
}

static int open_sender(const char *address, uint16_t port, int tos, int buffer)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
	};
	int half = buffer / 2; /* the kernel doubles it */
	int fd = open_socket();

	if (inet_pton(AF_INET, address, &to.sin_addr) != 1) {
		fprintf(stderr, "saturate: %s: not an IPv4 address\n", address);
		exit(2);
	}
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &half, sizeof(half)))
		fail("setting the size of the send buffer");
	if (setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)))
		fail("setting the TOS octet");
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
		fail(address);
	return fd;
}

/*
 * The alarm comes again each millisecond, in case the first one fell between
 * looking at expired and going to sleep in the kernel.
 */
static void set_alarm(struct timeval after)
{
	const struct sigaction on_alarm = { .sa_handler = expire };
	const struct itimerval timer = {
		.it_value = after,
		.it_interval.tv_usec = 1000,
	};

	sigaction(SIGALRM, &on_alarm, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

/*
 * When more has gone out in no time than the buffer holds, datagrams are being
 * dropped further down: the station is not associated, say, or the neighbour's
 * address not yet resolved. The buffer would never be full, and in virtual time
 * no time would pass until it is.
 */
static void pause_if_dropped(int sent, int octets, int buffer)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	static long long last_ns, charged;
	long long now = now_ns(CLOCK_MONOTONIC);

	if (now - last_ns > INSTANT_NS)
		charged = 0;
	last_ns = now;
	charged += (long long)sent * (octets + LEAST_OVERHEAD);
	if (charged > buffer) {
		nanosleep(&pause, NULL);
		charged = 0;
	}
}

static void send_all(int fd, int octets, int buffer)
{
	static struct mmsghdr batch[BATCH];
	static char payload[MAX_OCTETS];
	struct iovec part = { .iov_base = payload, .iov_len = octets };
	unsigned long total = 0;
	int i, sent;

	for (i = 0; i < BATCH; i++) {
		batch[i].msg_hdr.msg_iov = &part;
		batch[i].msg_hdr.msg_iovlen = 1;
	}
	while (!expired) {
		sent = sendmmsg(fd, batch, BATCH, 0);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			fail("sending");
		total += sent;
		pause_if_dropped(sent, octets, buffer);
	}
	printf("sent %lu\n", total);
}

static void sink(uint16_t port)
{
	const struct sockaddr_in here = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
	};
	int fd = open_socket();
	int least = 0;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least)))
		fail("setting the size of the receive buffer");
	if (bind(fd, (const struct sockaddr *)&here, sizeof(here)))
		fail("binding to the port");
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

int main(int count, char **arguments)
{
	int octets, buffer = DEFAULT_BUFFER, tos = 0, fd;
	struct timeval after;
	uint16_t port;

	if (count == 3 && !strcmp(arguments[1], "sink"))
		sink(number(arguments[2], 1, UINT16_MAX));
	if (count < 6 || count > 8 || strcmp(arguments[1], "send"))
		usage();
	port = number(arguments[3], 1, UINT16_MAX);
	octets = number(arguments[4], 1, MAX_OCTETS);
	after = duration(arguments[5]);
	if (count > 6)
		tos = number(arguments[6], 0, 255);
	if (count > 7)
		buffer = number(arguments[7], 4608, 1 << 30);
	fd = open_sender(arguments[2], port, tos, buffer);
	set_alarm(after);
	send_all(fd, octets, buffer);
	return 0;
}
