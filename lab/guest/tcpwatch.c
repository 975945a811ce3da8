// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sample the state of TCP connections, as CSV.
 *
 *	tcpwatch INTERVAL_US FILE [PORT [LAST_PORT]]
 *	tcpwatch INTERVAL_US - [PORT [LAST_PORT]]
 *
 * With `-`, lines on standard input are nodes and files, and a process watches
 * each node: forking is cheaper than starting programs. They end together; if one
 * fails, so do all.
 *
 * Every INTERVAL_US microseconds it writes a `sample` row for each connection of
 * this network namespace with PORT (default 5201), or a port up to LAST_PORT, at
 * either end. When a connection is destroyed, the kernel reports its last
 * counters, which become a `close` row with the time at which the program reads
 * them, with the samples of a tenth of a second. This happens only after its last
 * packet has been freed, which may be on a wire or behind thousands of others in a
 * radio. After SIGTERM or SIGINT the program ends as soon as each connection has a
 * `close` row; it ends with status 1 if that takes longer than a minute.
 *
 * /proc/tcp_watch returns many samples per system call, because system calls of
 * programs are expensive in User Mode Linux. Kernels without it are asked for each
 * sample (sock_diag).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <linux/tcp_watch.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "namespace.h"
#include "program.h"

#define MAX_NODES	1024
#define DEFAULT_PORT	5201
#define FILE_BUFFER	(1 << 20)
#define SAMPLES_BUFFER	(8 << 20)
/* Reports of closed connections between two readings */
#define CLOSED_BUFFER	(64 << 20)
/* Bits of enum tcp_state of the kernel: all but time-wait, close and listen. */
#define STATES		(0xfff & ~(1 << 6 | 1 << 7 | 1 << 10))
/* The kernel reports closed sockets from a work queue: wait that long. */
#define CLOSE_REPORT_NS	10000000
#define CLOSE_LIMIT_NS	(60 * NSEC_PER_SEC)

static const char header[] =
	"time_ns,event,local,remote,state,cwnd,ssthresh,srtt_us,rttvar_us,"
	"min_rtt_us,rto_us,rcv_rtt_us,bytes_acked,bytes_received,segs_out,"
	"segs_in,data_segs_out,data_segs_in,retrans,lost,unacked,"
	"delivery_rate_bps,pacing_rate_bps,notsent_bytes,rwnd_limited_us,"
	"sndbuf_limited_us\n";

static const char * const states[] = {
	"UNKNOWN", "ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1",
	"FIN_WAIT2", "TIME_WAIT", "CLOSE", "CLOSE_WAIT", "LAST_ACK", "LISTEN",
	"CLOSING", "NEW_SYN_RECV",
};

static uint16_t first_port = DEFAULT_PORT, last_port = DEFAULT_PORT;

static volatile sig_atomic_t stopped;

/* The kernel's numbers of connections */
struct connections {
	uint64_t *numbers;
	size_t count, room;
};

/* Those with a `sample` row and no `close` row. */
static struct connections living;
/*
 * Those that were closed during the present dump, which may also have them: its
 * next message can be complete, but not yet sent, when another processor reports
 * that a connection was closed.
 */
static struct connections closed;
/* A dump is not yet complete. */
static bool dumping;

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

static void print_end(FILE *out, const __be32 *address, __be16 port)
{
	char text[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, address, text, sizeof(text));
	fprintf(out, ",%s:%u", text, ntohs(port));
}

/* tcp_info gives rates in bytes per second, and ~0 for unlimited. */
static uint64_t bits(uint64_t bytes)
{
	return bytes > UINT64_MAX / 8 ? UINT64_MAX : bytes * 8;
}

/* The kernel's tcp_info may be longer or shorter than ours. */
static void print_row(FILE *out, long long time_ns, const char *event,
		      const struct inet_diag_sockid *id, const void *data,
		      size_t size)
{
	struct tcp_info copy = {}, *info = &copy;
	unsigned int state;

	memcpy(info, data, size < sizeof(*info) ? size : sizeof(*info));
	state = info->tcpi_state;
	if (state >= sizeof(states) / sizeof(*states))
		state = 0;
	fprintf(out, "%lld,%s", time_ns, event);
	print_end(out, id->idiag_src, id->idiag_sport);
	print_end(out, id->idiag_dst, id->idiag_dport);
	fprintf(out, ",%s,%u,%u,%u,%u,%u,%u,%u", states[state],
		info->tcpi_snd_cwnd, info->tcpi_snd_ssthresh, info->tcpi_rtt,
		info->tcpi_rttvar, info->tcpi_min_rtt, info->tcpi_rto,
		info->tcpi_rcv_rtt);
	fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%u,%u,%u,%u,%u,%u,%u",
		(uint64_t)info->tcpi_bytes_acked,
		(uint64_t)info->tcpi_bytes_received, info->tcpi_segs_out,
		info->tcpi_segs_in, info->tcpi_data_segs_out,
		info->tcpi_data_segs_in, info->tcpi_total_retrans,
		info->tcpi_lost, info->tcpi_unacked);
	fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%u,%" PRIu64 ",%" PRIu64 "\n",
		bits(info->tcpi_delivery_rate), bits(info->tcpi_pacing_rate),
		info->tcpi_notsent_bytes, (uint64_t)info->tcpi_rwnd_limited,
		(uint64_t)info->tcpi_sndbuf_limited);
}

static bool watched(__be16 port)
{
	return ntohs(port) >= first_port && ntohs(port) <= last_port;
}

static uint64_t number_of(const struct inet_diag_sockid *id)
{
	return (uint64_t)id->idiag_cookie[1] << 32 | id->idiag_cookie[0];
}

/* Returns the count without it. */
static size_t find(const struct connections *set, uint64_t connection)
{
	size_t i;

	for (i = 0; i < set->count && set->numbers[i] != connection; i++)
		;
	return i;
}

static void add(struct connections *set, uint64_t connection)
{
	if (find(set, connection) < set->count)
		return;
	if (set->count == set->room) {
		set->room = 2 * set->room + 64;
		set->numbers = realloc(set->numbers,
				       set->room * sizeof(*set->numbers));
		if (!set->numbers)
			fail("connections");
	}
	set->numbers[set->count++] = connection;
}

static void drop(struct connections *set, uint64_t connection)
{
	size_t i = find(set, connection);

	if (i < set->count)
		set->numbers[i] = set->numbers[--set->count];
}

/* Returns false for a sample of a connection that already has a `close` row. */
static bool note(uint64_t connection, bool sampled)
{
	if (!sampled) {
		drop(&living, connection);
		if (dumping)
			add(&closed, connection);
		return true;
	}
	if (find(&closed, connection) < closed.count)
		return false;
	add(&living, connection);
	return true;
}

static void read_message(FILE *out, long long time_ns, bool sampled,
			 const struct nlmsghdr *header)
{
	const struct inet_diag_msg *message = NLMSG_DATA(header);
	int left = header->nlmsg_len - NLMSG_LENGTH(sizeof(*message));
	const struct rtattr *attribute = (const void *)(message + 1);

	if (message->idiag_family != AF_INET || !message->id.idiag_dport)
		return; /* not a connection: a listener that was closed */
	if (!watched(message->id.idiag_sport) &&
	    !watched(message->id.idiag_dport))
		return;
	for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
		if (attribute->rta_type != INET_DIAG_INFO)
			continue;
		if (note(number_of(&message->id), sampled))
			print_row(out, time_ns, sampled ? "sample" : "close",
				  &message->id, RTA_DATA(attribute),
				  RTA_PAYLOAD(attribute));
		return;
	}
}

enum { DATAGRAMS = 8, DATAGRAM_BYTES = 65536, OF_DUMP = 1 };

/*
 * Write the messages of one datagram: those of a dump, and the kernel's reports
 * of closed connections.
 */
static void read_datagram(FILE *out, long long time_ns, const void *buffer,
			  size_t length)
{
	const struct nlmsghdr *header;

	for (header = buffer; NLMSG_OK(header, length);
	     header = NLMSG_NEXT(header, length)) {
		if (header->nlmsg_type == NLMSG_DONE) {
			dumping = false;
			return;
		}
		if (header->nlmsg_type == NLMSG_ERROR) {
			errno = -((struct nlmsgerr *)NLMSG_DATA(header))->error;
			fail("sock_diag");
		}
		read_message(out, time_ns, header->nlmsg_seq == OF_DUMP,
			     header);
	}
}

/*
 * Read all available messages, usually in one system call: with MSG_WAITFORONE
 * wait for the first, with MSG_DONTWAIT do not wait. Returns false if there are
 * no more.
 */
static bool receive(int fd, int flags, FILE *out, long long time_ns)
{
	static char buffers[DATAGRAMS][DATAGRAM_BYTES]
		__attribute__((aligned(NLMSG_ALIGNTO)));
	struct mmsghdr messages[DATAGRAMS] = {};
	struct iovec parts[DATAGRAMS];
	int i, count;

	for (i = 0; i < DATAGRAMS; i++) {
		parts[i].iov_base = buffers[i];
		parts[i].iov_len = DATAGRAM_BYTES;
		messages[i].msg_hdr.msg_iov = &parts[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	count = recvmmsg(fd, messages, DATAGRAMS, flags, NULL);
	if (count < 0) {
		if (errno == EAGAIN || errno == EINTR)
			return false;
		fail("receiving from sock_diag");
	}
	for (i = 0; i < count; i++)
		read_datagram(out, time_ns, buffers[i], messages[i].msg_len);
	return count == DATAGRAMS;
}

static void sample(int fd, FILE *out)
{
	struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 request;
	} dump = {
		.header.nlmsg_len = sizeof(dump),
		.header.nlmsg_type = SOCK_DIAG_BY_FAMILY,
		.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		.header.nlmsg_seq = OF_DUMP,
		.request.sdiag_family = AF_INET,
		.request.sdiag_protocol = IPPROTO_TCP,
		.request.idiag_ext = 1 << (INET_DIAG_INFO - 1),
		.request.idiag_states = STATES,
	};
	long long time_ns = now_ns(CLOCK_REALTIME);

	if (send(fd, &dump, sizeof(dump), 0) < 0)
		fail("asking sock_diag");
	closed.count = 0;
	dumping = true;
	while (dumping)
		receive(fd, MSG_WAITFORONE, out, time_ns);
}

static void read_closed(int fd, FILE *out)
{
	long long time_ns = now_ns(CLOCK_REALTIME);

	while (receive(fd, MSG_DONTWAIT, out, time_ns))
		;
}

static int open_diag(void)
{
	const int group = SKNLGRP_INET_TCP_DESTROY, buffer = CLOSED_BUFFER;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	struct sockaddr_nl address = { .nl_family = AF_NETLINK };

	if (fd < 0)
		fail("opening sock_diag");
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)))
		fail("binding to sock_diag");
	if (setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group,
		       sizeof(group)))
		fail("joining sock_diag's group of closed connections");
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer)))
		fail("enlarging the buffer of sock_diag");
	return fd;
}

/* Returns -1 if the kernel does not have it. */
static int open_watch(long long interval_ns)
{
	int fd = open("/proc/tcp_watch", O_RDWR | O_CLOEXEC);
	char *text;
	int length;

	if (fd < 0 && errno == ENOENT)
		return -1;
	length = asprintf(&text, "%lld %u %u", interval_ns, first_port,
			  last_port);
	if (fd < 0 || length < 0 || write(fd, text, length) != length)
		fail("/proc/tcp_watch");
	free(text);
	return fd;
}

/* Wait for the samples of a tenth of a second, or for a signal. */
static void read_watch(int fd, FILE *out)
{
	static char buffer[SAMPLES_BUFFER]
		__attribute__((aligned(__alignof__(struct tcp_watch))));
	ssize_t length = read(fd, buffer, sizeof(buffer));
	const struct tcp_watch *sample;
	const char *next = buffer;

	if (length < 0 && errno != EINTR)
		fail("reading /proc/tcp_watch");
	while (length > next - buffer) {
		sample = (const void *)next;
		print_row(out, sample->time_ns, "sample", &sample->id,
			  sample + 1, sample->info_bytes);
		add(&living, number_of(&sample->id));
		next += sizeof(*sample) + sample->info_bytes;
	}
}

static void sleep_until(long long time_ns)
{
	struct timespec wake = {
		.tv_sec = time_ns / NSEC_PER_SEC,
		.tv_nsec = time_ns % NSEC_PER_SEC,
	};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
}

static pid_t processes[MAX_NODES];
static int process_count;

static void stop_all(int signal)
{
	int i;

	stop(signal);
	for (i = 0; i < process_count; i++)
		kill(processes[i], SIGTERM);
}

/* Status 1 if a process fails, or ends before it has been stopped. */
static _Noreturn void wait_for_all(void)
{
	int left = process_count, status;

	while (left) {
		if (wait(&status) < 0) {
			if (errno == EINTR)
				continue;
			fail("wait");
		}
		left--;
		if (status || !stopped) {
			stop_all(0);
			exit(1);
		}
	}
	exit(0);
}

/* Returns in a process for each node, with the name of its file. */
static char *fork_all(void)
{
	struct sigaction on_stop = { .sa_handler = stop_all };
	static char node[64], file[256];
	sigset_t signals, before;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, &before);
	while (process_count < MAX_NODES &&
	       scanf("%63s %255s", node, file) == 2) {
		processes[process_count] = fork();
		if (!processes[process_count]) {
			sigprocmask(SIG_SETMASK, &before, NULL);
			enter_namespace(node);
			return file;
		}
		if (processes[process_count++] < 0)
			fail("fork");
	}
	sigaction(SIGTERM, &on_stop, NULL);
	sigaction(SIGINT, &on_stop, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	wait_for_all();
}

int main(int argc, char **argv)
{
	struct sigaction on_stop = { .sa_handler = stop };
	long long next_ns, interval_ns, give_up_ns;
	int diag, watch, incomplete;
	FILE *out;

	if (argc < 3 || argc > 5) {
		fputs("usage: tcpwatch INTERVAL_US FILE [PORT [LAST_PORT]]\n", stderr);
		return 2;
	}
	interval_ns = number(argv[1], 1, 1000000000) * 1000LL;
	if (argc > 3)
		first_port = last_port = number(argv[3], 1, UINT16_MAX);
	if (argc > 4)
		last_port = number(argv[4], 1, UINT16_MAX);
	if (!strcmp(argv[2], "-"))
		argv[2] = fork_all();
	out = fopen(argv[2], "w");
	if (!out)
		fail(argv[2]);
	setvbuf(out, NULL, _IOFBF, FILE_BUFFER);
	fputs(header, out);

	sigaction(SIGTERM, &on_stop, NULL);
	sigaction(SIGINT, &on_stop, NULL);
	diag = open_diag();
	watch = open_watch(interval_ns);
	while (!stopped && watch >= 0) {
		read_watch(watch, out);
		read_closed(diag, out);
	}
	next_ns = now_ns(CLOCK_MONOTONIC);
	while (!stopped) {
		sample(diag, out);
		next_ns += interval_ns;
		sleep_until(next_ns);
	}
	give_up_ns = now_ns(CLOCK_MONOTONIC) + CLOSE_LIMIT_NS;
	do {
		sample(diag, out);
		sleep_until(now_ns(CLOCK_MONOTONIC) + CLOSE_REPORT_NS);
		read_closed(diag, out);
	} while (living.count && now_ns(CLOCK_MONOTONIC) < give_up_ns);
	incomplete = ferror(out);
	if (fclose(out))
		fail(argv[2]);
	if (incomplete) {
		fprintf(stderr, "tcpwatch: %s: not all rows could be written\n",
			argv[2]);
		return 1;
	}
	if (living.count) {
		fprintf(stderr, "tcpwatch: %s: connections are still open\n",
			argv[2]);
		return 1;
	}
	return 0;
}
