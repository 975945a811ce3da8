// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exchange messages over TCP and measure how long each exchange takes.
 *
 *	exchange [-N] [-C CONGESTION] serve REQUEST REPLY CONNECTIONS
 *	exchange [-N] [-C CONGESTION] ask ADDRESS REQUEST REPLY EXCHANGES
 *	exchange [-N] [-C CONGESTION] fetch ADDRESS REQUEST REPLY EXCHANGES
 *
 * serve: answers each request of REQUEST bytes with REPLY bytes at once, for
 * so many connections, one after the other.
 *
 * ask: exchanges over one connection. The time of an exchange is from send()
 * until the last byte of the reply is read.
 *
 * fetch: a new connection for each exchange, whose time is from connect() on.
 *
 * ask and fetch print CSV, a row an exchange: the local port of its connection
 * and when it began and ended, in nanoseconds of CLOCK_REALTIME as in captures.
 *
 * -N and -C are those of iperf3: TCP_NODELAY and the congestion control.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NSEC_PER_SEC	1000000000LL
/* That of iperf3, which tcpwatch watches when not told. */
#define PORT		5201
#define MAX_BYTES	(1L << 30)
#define MAX_COUNT	1000000

static const char *congestion;
static int nodelay;

static void fail(const char *what)
{
	fprintf(stderr, "exchange: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void usage(void)
{
	fputs("usage: exchange [-N] [-C CONGESTION] serve REQUEST REPLY CONNECTIONS\n"
	      "       exchange [-N] [-C CONGESTION] ask|fetch ADDRESS REQUEST REPLY EXCHANGES\n",
	      stderr);
	exit(2);
}

static long number(const char *text, long max)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (end == text || *end || value < 1 || value > max) {
		fprintf(stderr,
			"exchange: %s: a number from 1 to %ld is allowed\n",
			text, max);
		exit(2);
	}
	return value;
}

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

static int open_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		fail("opening a socket");
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &nodelay, sizeof(nodelay)))
		fail("setting TCP_NODELAY");
	if (congestion && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION,
				     congestion, strlen(congestion)))
		fail(congestion);
	return fd;
}

static int connect_to(const struct sockaddr_in *address)
{
	int fd = open_socket();

	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)))
		fail("connecting");
	return fd;
}

static uint16_t local_port(int fd)
{
	struct sockaddr_in here;
	socklen_t length = sizeof(here);

	if (getsockname(fd, (struct sockaddr *)&here, &length))
		fail("asking for the local port");
	return ntohs(here.sin_port);
}

/* In one call, as an application that has the whole message sends it. */
static void send_message(int fd, const char *message, long bytes)
{
	long sent = 0;

	while (sent < bytes) {
		ssize_t done = send(fd, message + sent, bytes - sent,
				    MSG_NOSIGNAL);

		if (done < 0)
			fail("sending");
		sent += done;
	}
}

/*
 * The kernel collects the message, for its way out to a program is what costs.
 * TCP still wakes the reader for each segment and still copies each at once, so
 * what it acknowledges stays the same. False when the peer has closed instead.
 */
static bool receive_message(int fd, long bytes)
{
	static char buffer[1 << 16];
	long received = 0;

	while (received < bytes) {
		long left = bytes - received;
		size_t room = sizeof(buffer);
		ssize_t done;

		if (left < (long)room)
			room = left;
		done = recv(fd, buffer, room, MSG_WAITALL);
		if (done < 0)
			fail("receiving");
		if (!done)
			break;
		received += done;
	}
	if (received && received < bytes) {
		fputs("exchange: a message was cut short\n", stderr);
		exit(1);
	}
	return received;
}

static char *message_of(long bytes)
{
	char *message = calloc(1, bytes);

	if (!message)
		fail("making a message");
	return message;
}

static void serve(long request, long reply, long connections)
{
	const struct sockaddr_in here = {
		.sin_family = AF_INET,
		.sin_port = htons(PORT),
	};
	/* Its connections inherit its options. */
	int listener = open_socket();
	char *message = message_of(reply);

	if (bind(listener, (const struct sockaddr *)&here, sizeof(here)))
		fail("binding to the port");
	if (listen(listener, 1))
		fail("listening");
	while (connections--) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0)
			fail("accepting a connection");
		while (receive_message(fd, request))
			send_message(fd, message, reply);
		close(fd);
	}
}

static void exchange_over(int fd, long long start_ns, const char *message,
			  long request, long reply)
{
	send_message(fd, message, request);
	if (!receive_message(fd, reply)) {
		fputs("exchange: the server has closed the connection\n",
		      stderr);
		exit(1);
	}
	printf("%u,%lld,%lld\n", local_port(fd), start_ns, now_ns());
}

static void ask(const struct sockaddr_in *address, long request, long reply,
		long exchanges)
{
	char *message = message_of(request);
	int fd = connect_to(address);

	while (exchanges--)
		exchange_over(fd, now_ns(), message, request, reply);
	close(fd);
}

static void fetch(const struct sockaddr_in *address, long request, long reply,
		  long exchanges)
{
	char *message = message_of(request);

	while (exchanges--) {
		long long start_ns = now_ns();
		int fd = connect_to(address);

		exchange_over(fd, start_ns, message, request, reply);
		close(fd);
	}
}

int main(int count, char **words)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(PORT),
	};
	long request, reply, exchanges;
	int option;

	while ((option = getopt(count, words, "NC:")) != -1) {
		if (option == 'N')
			nodelay = 1;
		else if (option == 'C')
			congestion = optarg;
		else
			usage();
	}
	words += optind;
	count -= optind;
	if (count == 4 && !strcmp(words[0], "serve")) {
		serve(number(words[1], MAX_BYTES), number(words[2], MAX_BYTES),
		      number(words[3], MAX_COUNT));
		return 0;
	}
	if (count != 5)
		usage();
	if (inet_pton(AF_INET, words[1], &address.sin_addr) != 1) {
		fprintf(stderr, "exchange: %s: not an IPv4 address\n",
			words[1]);
		return 2;
	}
	request = number(words[2], MAX_BYTES);
	reply = number(words[3], MAX_BYTES);
	exchanges = number(words[4], MAX_COUNT);
	puts("port,start_ns,end_ns");
	if (!strcmp(words[0], "ask"))
		ask(&address, request, reply, exchanges);
	else if (!strcmp(words[0], "fetch"))
		fetch(&address, request, reply, exchanges);
	else
		usage();
	return fflush(stdout) || ferror(stdout);
}
