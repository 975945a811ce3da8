// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exchange messages over TCP and measure how long each exchange takes.
 *
 *	exchange [OPTIONS] serve REQUEST REPLY CONNECTIONS
 *	exchange [OPTIONS] ask ADDRESS REQUEST REPLY EXCHANGES
 *	exchange [OPTIONS] fetch ADDRESS REQUEST REPLY EXCHANGES
 *	exchange [OPTIONS] host
 *	exchange [OPTIONS] browse ADDRESS PAGES
 *
 * serve: answers each request of REQUEST bytes with REPLY bytes immediately, for
 * the given number of connections in sequence.
 *
 * ask: exchanges over one connection. An exchange lasts from send() until the
 * last byte of the reply has been read.
 *
 * fetch: a new connection for each exchange, which starts with connect().
 *
 * host: a request contains a number of bytes; answers with that many bytes, on
 * any number of connections at the same time.
 *
 * browse: loads the pages listed in a file, in sequence. Each line is a page: the
 * pauses before it and after its first object, in microseconds, and the sizes of
 * its objects in bytes. The other objects are fetched after the first, at most 6
 * at a time, each over a new connection.
 *
 * ask, fetch and browse print CSV with a row per exchange: the local port of its
 * connection and its start and end, in nanoseconds of CLOCK_REALTIME as in
 * captures; browse also prints the page number and the bytes.
 *
 * Options: -N (TCP_NODELAY) and -C CONGESTION as in iperf3; -p PORT of serve and
 * host.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "program.h"

/* iperf3's port, the default of tcpwatch. */
#define PORT		5201
#define MAX_BYTES	(1L << 30)
#define MAX_BUFFER	(1L << 24)
#define MAX_COUNT	1000000
/* browse and host: size of an object, pause, connections per page. */
#define MAX_OBJECT	(1L << 24)
#define MAX_PAUSE_US	(24L * 3600 * 1000000)
#define AT_ONCE		6

static const char *congestion;
static int nodelay;
static in_port_t port = PORT;

static void usage(void)
{
	fputs("usage: exchange [OPTIONS] serve REQUEST REPLY CONNECTIONS\n"
	      "       exchange [OPTIONS] ask|fetch ADDRESS REQUEST REPLY EXCHANGES\n"
	      "       exchange [OPTIONS] host\n"
	      "       exchange [OPTIONS] browse ADDRESS PAGES\n",
	      stderr);
	exit(2);
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
		fail("getting the local port");
	return ntohs(here.sin_port);
}

/* In one call, like an application that has the whole message. One of more than
 * MAX_BUFFER repeats it: the guest may not have the memory for all of it.
 */
static void send_message(int fd, const char *message, long bytes)
{
	while (bytes) {
		bool more = bytes > MAX_BUFFER;
		ssize_t done = send(fd, message, more ? MAX_BUFFER : bytes,
				    MSG_NOSIGNAL | (more ? MSG_MORE : 0));

		if (done < 0)
			fail("sending");
		bytes -= done;
	}
}

/*
 * The kernel collects the message, because returning to the program is expensive.
 * TCP still wakes the reader for each segment and still copies each one
 * immediately, so its ACKs stay the same. Returns false if the peer has closed
 * the connection.
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
		fputs("exchange: connection closed within a message\n", stderr);
		exit(1);
	}
	return received;
}

static char *message_of(long bytes)
{
	char *message = calloc(1, bytes < MAX_BUFFER ? bytes : MAX_BUFFER);

	if (!message)
		fail("allocating a message");
	return message;
}

/* Connections inherit the options of their listener. */
static int open_listener(void)
{
	const struct sockaddr_in here = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
	};
	int listener = open_socket();

	if (bind(listener, (const struct sockaddr *)&here, sizeof(here)))
		fail("binding to the port");
	if (listen(listener, SOMAXCONN))
		fail("listening");
	return listener;
}

static int accept_from(int listener)
{
	int fd = accept(listener, NULL, NULL);

	if (fd < 0)
		fail("accepting a connection");
	return fd;
}

static void serve(long request, long reply, long connections)
{
	int listener = open_listener();
	char *message = message_of(reply);

	while (connections--) {
		int fd = accept_from(listener);

		while (receive_message(fd, request))
			send_message(fd, message, reply);
		close(fd);
	}
}

static pid_t fork_child(void)
{
	pid_t child = fork();

	if (child < 0)
		fail("starting a process");
	return child;
}

static void host(void)
{
	int listener = open_listener();
	char *message = message_of(MAX_OBJECT);

	/* Children need not be waited for. */
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int fd = accept_from(listener);

		if (!fork_child()) {
			uint32_t bytes;

			while (recv(fd, &bytes, sizeof(bytes), MSG_WAITALL) ==
			       sizeof(bytes))
				send_message(fd, message, ntohl(bytes));
			_exit(0);
		}
		close(fd);
	}
}

static void exchange_over(int fd, long long start_ns, const char *message,
			  long request, long reply)
{
	send_message(fd, message, request);
	if (!receive_message(fd, reply)) {
		fputs("exchange: the server closed the connection\n", stderr);
		exit(1);
	}
	printf("%u,%lld,%lld\n", local_port(fd), start_ns, now_ns(CLOCK_REALTIME));
}

static void ask(const struct sockaddr_in *address, long request, long reply,
		long exchanges)
{
	char *message = message_of(request);
	int fd = connect_to(address);

	while (exchanges--)
		exchange_over(fd, now_ns(CLOCK_REALTIME), message, request, reply);
	close(fd);
}

static void fetch(const struct sockaddr_in *address, long request, long reply,
		  long exchanges)
{
	char *message = message_of(request);

	while (exchanges--) {
		long long start_ns = now_ns(CLOCK_REALTIME);
		int fd = connect_to(address);

		exchange_over(fd, start_ns, message, request, reply);
		close(fd);
	}
}

/* A single write, because the children that load a page share the file. */
static void fetch_object(const struct sockaddr_in *address, long page, long bytes)
{
	long long start_ns = now_ns(CLOCK_REALTIME);
	uint32_t request = htonl(bytes);
	int fd = connect_to(address);

	send_message(fd, (const char *)&request, sizeof(request));
	if (!receive_message(fd, bytes)) {
		fputs("exchange: the host closed the connection\n", stderr);
		exit(1);
	}
	if (dprintf(STDOUT_FILENO, "%u,%lld,%lld,%ld,%ld\n", local_port(fd),
		    start_ns, now_ns(CLOCK_REALTIME), page, bytes) < 0)
		fail("writing");
	close(fd);
}

static void wait_for_child(void)
{
	int status;

	if (wait(&status) < 0)
		fail("waiting for a process");
	if (status)
		exit(1);
}

static void pause_us(long us)
{
	const struct timespec length = {
		.tv_sec = us / 1000000,
		.tv_nsec = us % 1000000 * 1000,
	};

	nanosleep(&length, NULL);
}

static long next_number(char **line, long min, long max)
{
	char *end;
	long value = strtol(*line, &end, 10);

	if (end == *line || value < min || value > max) {
		fprintf(stderr, "exchange: not a page: %s", *line);
		exit(2);
	}
	*line = end;
	return value;
}

static bool at_end(const char *line)
{
	return !line[strspn(line, " \n")];
}

static void load_page(const struct sockaddr_in *address, long page, char *line)
{
	long parse_us;
	int loading = 0;

	pause_us(next_number(&line, 0, MAX_PAUSE_US));
	parse_us = next_number(&line, 0, MAX_PAUSE_US);
	fetch_object(address, page, next_number(&line, 1, MAX_OBJECT));
	if (at_end(line))
		return;
	pause_us(parse_us);
	for (; !at_end(line); loading++) {
		long bytes = next_number(&line, 1, MAX_OBJECT);

		if (loading == AT_ONCE) {
			wait_for_child();
			loading--;
		}
		if (!fork_child()) {
			fetch_object(address, page, bytes);
			_exit(0);
		}
	}
	while (loading--)
		wait_for_child();
}

static void browse(const struct sockaddr_in *address, const char *path)
{
	FILE *pages = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	long page;

	if (!pages)
		fail(path);
	for (page = 1; getline(&line, &room, pages) > 0; page++)
		load_page(address, page, line);
	free(line);
	fclose(pages);
}

static void read_address(const char *text, struct sockaddr_in *address)
{
	if (inet_pton(AF_INET, text, &address->sin_addr) != 1) {
		fprintf(stderr, "exchange: %s: not an IPv4 address\n", text);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
	};
	long request, reply, exchanges;
	int option;

	while ((option = getopt(argc, argv, "NC:p:")) != -1) {
		if (option == 'N')
			nodelay = 1;
		else if (option == 'C')
			congestion = optarg;
		else if (option == 'p')
			port = number(optarg, 1, 65535);
		else
			usage();
	}
	argv += optind;
	argc -= optind;
	address.sin_port = htons(port);
	if (argc == 4 && !strcmp(argv[0], "serve")) {
		serve(number(argv[1], 1, MAX_BYTES), number(argv[2], 1, MAX_BYTES),
		      number(argv[3], 1, MAX_COUNT));
		return 0;
	}
	if (argc == 1 && !strcmp(argv[0], "host"))
		host();
	if (argc == 3 && !strcmp(argv[0], "browse")) {
		read_address(argv[1], &address);
		puts("port,start_ns,end_ns,page,bytes");
		fflush(stdout);
		browse(&address, argv[2]);
		return 0;
	}
	if (argc != 5)
		usage();
	read_address(argv[1], &address);
	request = number(argv[2], 1, MAX_BYTES);
	reply = number(argv[3], 1, MAX_BYTES);
	exchanges = number(argv[4], 1, MAX_COUNT);
	puts("port,start_ns,end_ns");
	if (!strcmp(argv[0], "ask"))
		ask(&address, request, reply, exchanges);
	else if (!strcmp(argv[0], "fetch"))
		fetch(&address, request, reply, exchanges);
	else
		usage();
	end_output();
	return 0;
}
