// SPDX-License-Identifier: GPL-2.0-only
/*
 * soak CONNECTIONS FLOWS QUIET BUSY SERVER CLIENT ADDRESS POLICY...: TCP between
 * two network namespaces, named SERVER and CLIENT, while each socket changes its
 * ACK policy.
 *
 * CONNECTIONS short connections carry up to 16 KB in each direction and end in
 * every possible way, many with a delayed ACK pending. While the file BUSY exists
 * there are pauses between them, and they do not end. FLOWS bulk flows last as
 * long as these do. The file QUIET lists policies, with a space after each,
 * which are not selected for now. ADDRESS is the server's.
 *
 * Prints counts. Fails if a connection that both ends should close in order was
 * not, or if a flow stalled for STALL_S.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef TCP_ACK_POLICY
#define TCP_ACK_POLICY	47
#endif

#define PORT		"5001"
#define CLIENTS		8	/* threads with short connections */
#define STALL_S		30
#define SWITCH_MS	100	/* between changes of a flow's policy */
#define BUSY_PAUSE_MS	2000	/* at most, after a short connection */
#define SLOWEST_FLOW	2000	/* bytes per second; the fastest has 32 times this rate */

/* How a short connection ends */
enum end {
	ANSWER,		/* server answers, client closes, then the server */
	HALF,		/* client closes its half, server answers and closes */
	SILENT,		/* server reads everything, and closes within 3 ms */
	FIRST_UNREAD,	/* from here on disorderly: client reads no answer */
	CLIENT_RESET,	/* client resets while it receives the answer */
	CLIENT_ANEW,	/* client disconnects its socket by AF_UNSPEC */
	SERVER_RESET,	/* server resets while it receives the request */
	SERVER_UNREAD,	/* server closes while it receives the request */
	ENDS,
	BULK,
};

struct request {
	uint32_t up;		/* bytes, including this structure */
	uint32_t down;
	uint32_t end;
};

static const char *quiet_file, *busy_file, *server_netns, *client_netns;
static struct addrinfo *server_address;
static char **policies;
static int policy_count, listener;

static atomic_long to_do, finished, broken, stalled, switched, refused, sent;
static atomic_bool over;

static __thread unsigned int seed;

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void seed_at_random(void)
{
	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		die("getrandom");
}

static unsigned int below(unsigned int n)
{
	return rand_r(&seed) % n;
}

/* Bytes of a short connection in one direction: mostly few */
static unsigned int some_bytes(void)
{
	return 1 + below(256 << below(7));
}

static void enter(const char *netns)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", netns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(path);
	close(fd);
}

static bool is_quiet(const char *policy)
{
	char names[256], word[32];
	int fd = open(quiet_file, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? 0 : read(fd, names, sizeof(names) - 1);

	if (fd >= 0)
		close(fd);
	names[length < 0 ? 0 : length] = 0;
	snprintf(word, sizeof(word), "%s ", policy);
	return strstr(names, word);
}

/* Setting the policy may fail while its module is being unloaded. */
static void switch_policy(int fd)
{
	const char *name = policies[below(policy_count)];

	if (is_quiet(name))
		name = "default";
	if (!setsockopt(fd, IPPROTO_TCP, TCP_ACK_POLICY, name, strlen(name)))
		switched++;
	else if (errno == ENOENT || errno == EBUSY)
		refused++;
	else
		die(name);
}

static void configure(int fd)
{
	struct timeval limit = { .tv_sec = STALL_S };
	int on = 1;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (below(2))
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (below(2))
		switch_policy(fd);
}

/* Sends or receives bytes in pieces of random size, and sometimes switches the
 * policy. Returns false at the end of the stream or on an error.
 */
static bool carry(int fd, size_t bytes, bool out)
{
	static const char zeros[4096];
	char buffer[4096];
	ssize_t moved;

	while (bytes) {
		size_t piece = 1 + below(below(2) ? 64 : sizeof(buffer));

		if (piece > bytes)
			piece = bytes;
		if (!below(8))
			switch_policy(fd);
		if (out)
			moved = send(fd, zeros, piece, MSG_NOSIGNAL);
		else
			moved = recv(fd, buffer, piece, 0);
		if (moved <= 0) {
			if (!moved)
				errno = EPIPE;
			return false;
		}
		bytes -= moved;
	}
	return true;
}

static bool at_end(int fd)
{
	char byte;
	ssize_t ret = recv(fd, &byte, 1, 0);

	if (ret > 0)
		errno = EPROTO;
	return ret == 0;
}

static void reset_on_close(int fd)
{
	struct linger none = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
}

/* Shows the state of both ends of a connection */
static void show_state(int fd)
{
	struct sockaddr_in6 local = {}, remote = {};
	socklen_t size = sizeof(local);
	char command[512];
	int ports[2];

	/* The port is at the same offset in an IPv4 address. */
	if (getsockname(fd, (struct sockaddr *)&local, &size) ||
	    getpeername(fd, (struct sockaddr *)&remote, &size))
		return;
	ports[0] = ntohs(local.sin6_port);
	ports[1] = ntohs(remote.sin6_port);
	snprintf(command, sizeof(command),
		 "for node in %s %s; do ip netns exec $node ss -Htimoen "
		 "'( sport = :%d and dport = :%d ) or ( sport = :%d and dport = :%d )'; "
		 "ip netns exec $node tc -s qdisc show dev eth0; done >&2",
		 server_netns, client_netns, ports[0], ports[1], ports[1],
		 ports[0]);
	if (system(command))
		perror("ss");
}

static void note(int fd, enum end end, bool ok, int error)
{
	if (ok || (end >= FIRST_UNREAD && end != BULK))
		return;
	if (error == EAGAIN)
		stalled++;
	else
		broken++;
	fprintf(stderr, "soak: end %d: %s\n", end, strerror(error));
	if (fd >= 0)
		show_state(fd);
}

static void answer(int fd, const struct request *request)
{
	size_t up = request->up - sizeof(*request);
	bool ok = true;

	switch (request->end) {
	case SERVER_RESET:
		reset_on_close(fd);
		/* fallthrough */
	case SERVER_UNREAD:
		carry(fd, below(up), false);
		return;
	case SILENT:
		ok = carry(fd, up, false);
		usleep(below(3000));
		break;
	case HALF:
		ok = carry(fd, up, false) && at_end(fd) &&
		       carry(fd, request->down, true);
		break;
	default:
		ok = carry(fd, up, false) &&
		       carry(fd, request->down, true) && at_end(fd);
	}
	note(fd, request->end, ok, errno);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void sink(int fd)
{
	bool echo = below(2);
	char buffer[16384];
	int64_t due = 0;
	ssize_t ret;

	while ((ret = recv(fd, buffer, sizeof(buffer), 0)) > 0) {
		/* Sometimes the ACK can be piggybacked. */
		if (echo)
			send(fd, buffer, 100, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (now_ms() < due)
			continue;
		due = now_ms() + SWITCH_MS;
		switch_policy(fd);
		if (!below(4))
			setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK,
				   &(int){ below(2) }, sizeof(int));
	}
	note(fd, BULK, ret == 0, errno);
}

static void *server(void *)
{
	struct request request;
	int fd;

	seed_at_random();
	enter(server_netns);
	while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		configure(fd);
		if (!below(16))
			switch_policy(listener);
		if (recv(fd, &request, sizeof(request), MSG_WAITALL) ==
		    sizeof(request)) {
			if (request.end == BULK)
				sink(fd);
			else
				answer(fd, &request);
		}
		close(fd);
	}
	return NULL;
}

/* Returns a socket on which the request was sent, or -1. */
static int ask(const struct request *request)
{
	const struct addrinfo *to = server_address;
	int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ssize_t done = -1;

	if (fd < 0)
		die("socket");
	configure(fd);
	if (!below(4)) {
		/* Data in the SYN, if there is a TCP Fast Open cookie */
		done = sendto(fd, request, sizeof(*request),
			      MSG_FASTOPEN | MSG_NOSIGNAL, to->ai_addr,
			      to->ai_addrlen);
	} else if (!connect(fd, to->ai_addr, to->ai_addrlen)) {
		done = send(fd, request, sizeof(*request), MSG_NOSIGNAL);
	}
	if (done == sizeof(*request))
		return fd;
	close(fd);
	return -1;
}

static void exchange(enum end end)
{
	struct request request = {
		.up = sizeof(request) + some_bytes(),
		.down = some_bytes(),
		.end = end,
	};
	struct sockaddr unspecified = { .sa_family = AF_UNSPEC };
	int fd = ask(&request);
	bool ok;

	if (fd < 0) {
		note(fd, end, false, errno);
		return;
	}
	ok = carry(fd, request.up - sizeof(request), true);
	switch (end) {
	case ANSWER:
		ok = ok && carry(fd, request.down, false);
		break;
	case HALF:
		shutdown(fd, SHUT_WR);
		ok = ok && carry(fd, request.down, false) && at_end(fd);
		break;
	case SILENT:
		ok = ok && at_end(fd);
		break;
	case CLIENT_RESET:
		reset_on_close(fd);
		carry(fd, below(request.down), false);
		break;
	case CLIENT_ANEW:
		carry(fd, below(request.down), false);
		connect(fd, &unspecified, sizeof(unspecified));
		break;
	default:
		break;
	}
	note(fd, end, ok, errno);
	close(fd);
}

static bool is_busy(void)
{
	return !access(busy_file, F_OK);
}

static void *client(void *)
{
	seed_at_random();
	enter(client_netns);
	while (atomic_fetch_sub(&to_do, 1) > 0 || is_busy()) {
		exchange(below(ENDS));
		finished++;
		if (is_busy())
			usleep(below(BUSY_PAUSE_MS * 1000));
	}
	return NULL;
}

static void *flow(void *)
{
	struct request request = { .end = BULK };
	static const char zeros[16384];
	char buffer[4096];
	int64_t due = 0;
	ssize_t done = 1;
	int fd, rate;

	seed_at_random();
	enter(client_netns);
	rate = SLOWEST_FLOW << below(6);
	fd = ask(&request);
	if (fd < 0) {
		note(fd, BULK, false, errno);
		return NULL;
	}
	setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof(rate));
	/* The send buffer drains within seconds, less than STALL_S. */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){ 2 * rate }, sizeof(int));
	while (!over && done > 0) {
		done = send(fd, zeros, 1 + below(sizeof(zeros)), MSG_NOSIGNAL);
		if (done > 0)
			sent += done;
		while (recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT) > 0)
			;
		if (now_ms() >= due) {
			due = now_ms() + SWITCH_MS;
			switch_policy(fd);
		}
	}
	shutdown(fd, SHUT_WR);
	while (done > 0)
		done = recv(fd, buffer, sizeof(buffer), 0);
	note(fd, BULK, done == 0, errno);
	close(fd);
	return NULL;
}

static pthread_t start(void *(*function)(void *))
{
	pthread_t thread;

	errno = pthread_create(&thread, NULL, function, NULL);
	if (errno)
		die("pthread_create");
	return thread;
}

static void join(pthread_t *threads, int count)
{
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void open_listener(void)
{
	struct sockaddr_in6 any = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(atoi(PORT)),
	};
	int on = 1;

	enter(server_netns);
	listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(listener, (struct sockaddr *)&any, sizeof(any)) ||
	    setsockopt(listener, IPPROTO_TCP, TCP_FASTOPEN, &(int){ 1024 },
		       sizeof(int)) ||
	    listen(listener, 1024))
		die("listen");
}

int main(int argc, char **argv)
{
	struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
	};
	int flows, servers;
	pthread_t *threads;

	if (argc < 9) {
		fputs("usage: soak CONNECTIONS FLOWS QUIET BUSY SERVER "
		      "CLIENT ADDRESS POLICY...\n", stderr);
		return 2;
	}
	to_do = atol(argv[1]);
	flows = atoi(argv[2]);
	quiet_file = argv[3];
	busy_file = argv[4];
	server_netns = argv[5];
	client_netns = argv[6];
	if (getaddrinfo(argv[7], PORT, &hints, &server_address))
		die(argv[7]);
	policies = argv + 8;
	policy_count = argc - 8;

	/* One for each connection that can be open at a time, and some for
	 * connections that their clients have left.
	 */
	servers = flows + 4 * CLIENTS;
	threads = calloc(servers + flows + CLIENTS, sizeof(*threads));
	if (!threads)
		die("calloc");
	open_listener();
	for (int i = 0; i < servers; i++)
		threads[i] = start(server);
	for (int i = 0; i < flows; i++)
		threads[servers + i] = start(flow);
	for (int i = 0; i < CLIENTS; i++)
		threads[servers + flows + i] = start(client);

	join(threads + servers + flows, CLIENTS);
	over = true;
	join(threads + servers, flows);
	shutdown(listener, SHUT_RDWR);
	join(threads, servers);

	printf("finished %ld\nbroken %ld\nstalled %ld\nswitched %ld\n"
	       "refused %ld\nbulk_bytes %ld\n",
	       finished, broken, stalled, switched, refused, sent);
	return broken || stalled;
}
