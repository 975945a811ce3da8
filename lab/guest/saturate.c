// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keep a radio's queue full of UDP datagrams, or receive them.
 *
 *	saturate send ADDRESS PORT OCTETS SECONDS [TOS [BUFFER]]
 *	saturate sink PORT
 *
 * send: sends datagrams of OCTETS octets for SECONDS, then prints "sent N". They
 * are charged to a send buffer of BUFFER octets until the radio has sent them.
 * When the buffer is full, the program sleeps in the kernel until half of it is
 * free, so it sends few, large batches. Datagrams left in the buffer at the end
 * are still transmitted.
 *
 * sink: prints "ready" and never reads. When its small buffer is full, the
 * kernel drops further datagrams; nothing more is needed.
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
/* Limit of sendmmsg(). */
#define BATCH		1024
/*
 * Four A-MPDUs of maximum size: 256 datagrams of 1500 octets, for each of which
 * the kernel charges up to 2816.
 */
#define DEFAULT_BUFFER	(4 * 256 * 2816)
/* Minimum charged by the kernel in addition to the payload: sk_buff and tail. */
#define MIN_OVERHEAD	512
/* Shorter than any radio takes for the smallest part of a batch. */
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
			"saturate: %s: not 0.001 to 1000000 seconds\n",
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
 * The alarm repeats each millisecond, in case the first one occurs between
 * checking expired and sleeping in the kernel.
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
 * If more is sent in an instant than the buffer holds, datagrams are being
 * dropped below: the station is not associated, for example, or the neighbour's
 * address is not yet resolved. The buffer would never be full, and virtual time
 * would not advance.
 */
static void pause_if_dropped(int sent, int octets, int buffer)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	static long long last_ns, charged;
	long long now = now_ns(CLOCK_MONOTONIC);

	if (now - last_ns > INSTANT_NS)
		charged = 0;
	last_ns = now;
	charged += (long long)sent * (octets + MIN_OVERHEAD);
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

int main(int argc, char **argv)
{
	int octets, buffer = DEFAULT_BUFFER, tos = 0, fd;
	struct timeval after;
	uint16_t port;

	if (argc == 3 && !strcmp(argv[1], "sink"))
		sink(number(argv[2], 1, UINT16_MAX));
	if (argc < 6 || argc > 8 || strcmp(argv[1], "send"))
		usage();
	port = number(argv[3], 1, UINT16_MAX);
	octets = number(argv[4], 1, MAX_OCTETS);
	after = duration(argv[5]);
	if (argc > 6)
		tos = number(argv[6], 0, 255);
	if (argc > 7)
		buffer = number(argv[7], 4608, 1 << 30);
	fd = open_sender(argv[2], port, tos, buffer);
	set_alarm(after);
	send_all(fd, octets, buffer);
	return 0;
}
