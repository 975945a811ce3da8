// SPDX-License-Identifier: GPL-2.0-only
/*
 * Send UDP datagrams at a constant rate, and count what arrives.
 *
 *	udpflow [-B ADDRESS] [-p PORT] receive
 *	udpflow [-p PORT] [-P STREAMS] [-S TOS] send ADDRESS OCTETS RATE SECONDS
 *
 * send: sends datagrams of OCTETS octets for SECONDS. Each stream has a socket and
 * the RATE in bit/s of payload. Every millisecond it sends what is due, in one
 * system call, unless half of the socket's buffer is in use: then it continues when
 * the kernel reports that less is, like any program that waits for a writable socket.
 *
 * receive: receives from one sender. It reads the socket every 10 ms, in few system
 * calls, and only the header of each datagram; the kernel provides the arrival times.
 *
 * A TCP connection to the same port starts and ends the measurement. Both ends print
 * JSON with iperf3's keys, and lost and reordered datagrams and jitter by its rules
 * (jitter: RFC 3550, 6.4.1). iperf3 makes some ten system calls for each datagram,
 * and entering the kernel costs more than the datagram in User Mode Linux.
 */
#define _GNU_SOURCE
#include <unistd.h>

#include "udpflow.h"

/* iperf3's port. */
#define PORT		5201
#define MAX_RATE	1e12
#define MAX_SECONDS	86400

static void usage(void)
{
	fputs("usage: udpflow [-B ADDRESS] [-p PORT] receive\n"
	      "       udpflow [-p PORT] [-P STREAMS] [-S TOS] send ADDRESS OCTETS RATE SECONDS\n",
	      stderr);
	exit(2);
}

static double decimal(const char *text, double min, double max)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= min && value <= max)) {
		fprintf(stderr, "udpflow: %s: not a number from %g to %g\n",
			text, min, max);
		exit(2);
	}
	return value;
}

static struct sockaddr_in endpoint(const char *address, uint16_t port)
{
	struct sockaddr_in there = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
	};

	if (address && inet_pton(AF_INET, address, &there.sin_addr) != 1) {
		fprintf(stderr, "udpflow: %s: not an IPv4 address\n", address);
		exit(2);
	}
	return there;
}

int open_socket(int type)
{
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (fd < 0)
		fail("opening a socket");
	return fd;
}

void put(int fd, const void *data, size_t bytes)
{
	if (send(fd, data, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
		fail("sending to the other end");
}

void get(int fd, void *data, size_t bytes)
{
	ssize_t done = recv(fd, data, bytes, MSG_WAITALL);

	if (done >= 0 && done < (ssize_t)bytes) {
		fputs("udpflow: the other end has closed the connection\n",
		      stderr);
		exit(1);
	}
	if (done < 0)
		fail("waiting for the other end");
}

int main(int argc, char **argv)
{
	const char *bound = NULL;
	int streams = 1, tos = 0, option;
	uint16_t port = PORT;
	struct sockaddr_in address;

	while ((option = getopt(argc, argv, "B:p:P:S:")) != -1) {
		if (option == 'B')
			bound = optarg;
		else if (option == 'p')
			port = number(optarg, 1, UINT16_MAX);
		else if (option == 'P')
			streams = number(optarg, 1, MAX_STREAMS);
		else if (option == 'S')
			tos = number(optarg, 0, 255);
		else
			usage();
	}
	argv += optind;
	argc -= optind;
	if (argc == 1 && !strcmp(argv[0], "receive")) {
		address = endpoint(bound, port);
		receive(&address);
	} else if (argc == 5 && !strcmp(argv[0], "send")) {
		address = endpoint(argv[1], port);
		send_all(&address, streams, tos,
			 number(argv[2], sizeof(struct header), MAX_OCTETS),
			 decimal(argv[3], 1, MAX_RATE),
			 decimal(argv[4], 0.001, MAX_SECONDS));
	} else {
		usage();
	}
	end_output();
	return 0;
}
