// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measure latency by UDP requests that are answered immediately.
 *
 *	udpecho serve
 *	udpecho probe ADDRESS DSCP INTERVAL_US SECONDS
 *
 * serve: sends every datagram back with the same traffic class.
 *
 * probe: prints CSV with a row per request: its send time, in nanoseconds of
 * CLOCK_REALTIME as in captures, and its round-trip time in nanoseconds, which
 * is empty if no answer arrived within a second of the last request.
 *
 * irtt does the same, but is written in Go, whose runtime reads the host's cycle
 * counter: runs would not be reproducible.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "program.h"

#define PORT		5200
#define MAX_DSCP	63
#define MAX_SECONDS	86400
#define MAX_REQUESTS	1000000
/* How long to wait for the last answers. */
#define GRACE_NS	NSEC_PER_SEC

static int open_socket(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		fail("opening a socket");
	return fd;
}

static void set_class(int fd, int tos)
{
	if (setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)))
		fail("setting the class");
}

static void serve(void)
{
	const struct sockaddr_in here = {
		.sin_family = AF_INET,
		.sin_port = htons(PORT),
	};
	int fd = open_socket();
	const int on = 1;

	if (setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &on, sizeof(on)))
		fail("requesting the class of datagrams");
	if (bind(fd, (const struct sockaddr *)&here, sizeof(here)))
		fail("binding to the port");
	for (;;) {
		char control[CMSG_SPACE(sizeof(int))];
		struct sockaddr_in there;
		uint32_t request;
		struct iovec data = { &request, sizeof(request) };
		struct msghdr message = {
			.msg_name = &there,
			.msg_namelen = sizeof(there),
			.msg_iov = &data,
			.msg_iovlen = 1,
			.msg_control = control,
			.msg_controllen = sizeof(control),
		};
		const struct cmsghdr *header;

		if (recvmsg(fd, &message, 0) != sizeof(request))
			continue;
		header = CMSG_FIRSTHDR(&message);
		if (header && header->cmsg_type == IP_TOS)
			set_class(fd, *CMSG_DATA(header));
		sendto(fd, &request, sizeof(request), 0,
		       (const struct sockaddr *)&there, sizeof(there));
	}
}

/* Reads answers until a given time, or until none is missing. */
static void receive_until(int fd, long long until_ns, const long long *sent_ns,
			  long long *rtts_ns, uint32_t requests, bool wait_for_all)
{
	static uint32_t answered;

	for (;;) {
		struct pollfd ready = { .fd = fd, .events = POLLIN };
		long long left_ns = until_ns - now_ns(CLOCK_REALTIME);
		struct timespec left = {
			.tv_sec = left_ns / NSEC_PER_SEC,
			.tv_nsec = left_ns % NSEC_PER_SEC,
		};
		uint32_t request;

		if (left_ns <= 0 || (wait_for_all && answered == requests))
			return;
		if (ppoll(&ready, 1, &left, NULL) <= 0)
			continue;
		if (recv(fd, &request, sizeof(request), 0) != sizeof(request))
			continue;
		request = ntohl(request);
		if (request < requests && !rtts_ns[request]) {
			rtts_ns[request] = now_ns(CLOCK_REALTIME) - sent_ns[request];
			answered++;
		}
	}
}

static void probe(const struct sockaddr_in *address, int dscp, long long interval_ns,
		  long seconds)
{
	long long begin_ns = now_ns(CLOCK_REALTIME);
	long long most = seconds * NSEC_PER_SEC / interval_ns;
	static long long sent_ns[MAX_REQUESTS], rtts_ns[MAX_REQUESTS];
	int fd = open_socket();
	uint32_t sent;

	if (most > MAX_REQUESTS) {
		fprintf(stderr, "udpecho: %lld requests; allowed: at most %d\n",
			most, MAX_REQUESTS);
		exit(2);
	}
	set_class(fd, dscp << 2);
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)))
		fail("connecting");
	for (sent = 0; sent < most; sent++) {
		uint32_t request = htonl(sent);

		sent_ns[sent] = now_ns(CLOCK_REALTIME);
		/* A request dropped by a full queue is lost like any other. */
		if (send(fd, &request, sizeof(request), 0) < 0 &&
		    errno != ENOBUFS && errno != ECONNREFUSED)
			fail("sending");
		receive_until(fd, begin_ns + (sent + 1) * interval_ns, sent_ns,
			      rtts_ns, sent + 1, false);
	}
	receive_until(fd, now_ns(CLOCK_REALTIME) + GRACE_NS, sent_ns, rtts_ns, most, true);
	puts("sent_ns,rtt_ns");
	for (sent = 0; sent < most; sent++) {
		if (rtts_ns[sent])
			printf("%lld,%lld\n", sent_ns[sent], rtts_ns[sent]);
		else
			printf("%lld,\n", sent_ns[sent]);
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(PORT),
	};

	if (argc == 2 && !strcmp(argv[1], "serve"))
		serve();
	if (argc != 6 || strcmp(argv[1], "probe")) {
		fputs("usage: udpecho serve\n"
		      "       udpecho probe ADDRESS DSCP INTERVAL_US SECONDS\n",
		      stderr);
		return 2;
	}
	if (inet_pton(AF_INET, argv[2], &address.sin_addr) != 1) {
		fprintf(stderr, "udpecho: %s: not an IPv4 address\n", argv[2]);
		return 2;
	}
	probe(&address, number(argv[3], 0, MAX_DSCP),
	      number(argv[4], 1, MAX_SECONDS * 1000000L) * 1000,
	      number(argv[5], 1, MAX_SECONDS));
	end_output();
	return 0;
}
