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
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "program.h"

/* iperf3's port. */
#define PORT		5201
#define MAX_STREAMS	128
#define MAX_OCTETS	65507
#define MAX_RATE	1e12
#define MAX_SECONDS	86400
#define NSEC_PER_MSEC	1000000LL
#define TICK_NS		NSEC_PER_MSEC
#define READ_MS		10
/* Limit of sendmmsg() and recvmmsg(). */
#define BATCH		1024
/* More than arrives in READ_MS at 10 Gbit/s, as the kernel charges for it. */
#define RECEIVE_BUFFER	(64 << 20)

/* At the start of each datagram. */
struct header {
	uint32_t stream;
	uint32_t zero;
	uint64_t number;	/* from 1 */
	uint64_t sent_ns;
};

/* The first message of the sender on the TCP connection. */
struct request {
	uint32_t streams;
	uint32_t octets;
};

/* Counters of a stream: what was sent, or what arrived. */
struct count {
	uint64_t bytes;
	uint64_t packets;	/* of a receiver: highest number */
	uint64_t lost;
	uint64_t out_of_order;
};

struct stream {
	struct count total;
	struct count before;	/* total at the end of the previous interval */
	double jitter_ns;
	int64_t transit_ns;
	bool has_transit;
	int fd;
};

/* The receiver's last message. Both ends run on the same architecture. */
struct result {
	struct count total;
	double jitter_ns;
	double seconds;
};

struct flow {
	struct stream streams[MAX_STREAMS];
	int count;
	bool receives;
	int buffer;		/* of each sender's socket, in octets */
	long long start_ns;
	long long interval_ns;	/* start of the current interval */
	bool has_intervals;
};

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

static int open_socket(int type)
{
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (fd < 0)
		fail("opening a socket");
	return fd;
}

static int bound_socket(int type, const struct sockaddr_in *here)
{
	int fd = open_socket(type), on = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, (const struct sockaddr *)here, sizeof(*here)))
		fail("binding to the port");
	return fd;
}

static int connected_socket(int type, const struct sockaddr_in *there)
{
	int fd = open_socket(type);

	if (connect(fd, (const struct sockaddr *)there, sizeof(*there)))
		fail("connecting");
	return fd;
}

static void put(int fd, const void *data, size_t bytes)
{
	if (send(fd, data, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
		fail("sending to the other end");
}

static void get(int fd, void *data, size_t bytes)
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

/* JSON. Times are in seconds since the start. */

static void print_count(const struct flow *flow, const struct count *count,
			double jitter_ns, double start_s, double end_s,
			bool of_receiver)
{
	double length_s = end_s - start_s;

	printf("\"start\":%.9f,\"end\":%.9f,\"seconds\":%.9f,"
	       "\"bytes\":%llu,\"bits_per_second\":%.6f,\"packets\":%llu,",
	       start_s, end_s, length_s, (unsigned long long)count->bytes,
	       length_s > 0 ? 8 * count->bytes / length_s : 0,
	       (unsigned long long)count->packets);
	if (of_receiver)
		printf("\"jitter_ms\":%.6f,\"lost_packets\":%llu,"
		       "\"lost_percent\":%.6f,\"out_of_order\":%llu,",
		       jitter_ns / 1e6, (unsigned long long)count->lost,
		       count->packets ? 100.0 * count->lost / count->packets : 0,
		       (unsigned long long)count->out_of_order);
	printf("\"sender\":%s", flow->receives ? "false" : "true");
}

static void add(struct count *sum, const struct count *count)
{
	sum->bytes += count->bytes;
	sum->packets += count->packets;
	sum->lost += count->lost;
	sum->out_of_order += count->out_of_order;
}

static void end_interval(struct flow *flow, long long now)
{
	double start_s = (flow->interval_ns - flow->start_ns) / 1e9;
	double end_s = (now - flow->start_ns) / 1e9;
	struct count sum = { 0 };
	double jitter_ns = 0;

	printf("%s{\"streams\":[", flow->has_intervals ? ",\n" : "");
	for (int i = 0; i < flow->count; i++) {
		struct stream *stream = &flow->streams[i];
		const struct count *total = &stream->total;
		struct count *before = &stream->before;
		/* A datagram that was counted as lost may arrive later. */
		struct count since = {
			.bytes = total->bytes - before->bytes,
			.packets = total->packets - before->packets,
			.lost = total->lost > before->lost ?
					total->lost - before->lost : 0,
			.out_of_order = total->out_of_order - before->out_of_order,
		};

		printf("%s{\"socket\":%d,", i ? "," : "", i + 1);
		print_count(flow, &since, stream->jitter_ns, start_s, end_s,
			    flow->receives);
		printf(",\"omitted\":false}");
		add(&sum, &since);
		jitter_ns += stream->jitter_ns / flow->count;
		*before = *total;
	}
	printf("],\"sum\":{");
	print_count(flow, &sum, jitter_ns, start_s, end_s, flow->receives);
	printf(",\"omitted\":false}}");
	flow->interval_ns = now;
	flow->has_intervals = true;
}

/* End the interval of one second if it is over. */
static void check_interval(struct flow *flow, long long now)
{
	if (now - flow->interval_ns >= NSEC_PER_SEC)
		end_interval(flow, now);
}

static void print_sum(const struct flow *flow, const char *name,
		      const struct result *results, double seconds,
		      bool of_receiver)
{
	struct count sum = { 0 };
	double jitter_ns = 0;

	for (int i = 0; i < flow->count; i++) {
		add(&sum, &results[i].total);
		jitter_ns += results[i].jitter_ns / flow->count;
	}
	printf(",\n\"%s\":{", name);
	print_count(flow, &sum, jitter_ns, 0, seconds, of_receiver);
	printf("}");
}

/* received: the results of the receiver; sent: those of the sender, if known. */
static void print_end(const struct flow *flow, const struct result *sent,
		      const struct result *received)
{
	printf("],\n\"end\":{\"streams\":[");
	for (int i = 0; i < flow->count; i++) {
		printf("%s{\"udp\":{\"socket\":%d,", i ? "," : "", i + 1);
		print_count(flow, sent ? &sent[i].total : &received[i].total,
			    received[i].jitter_ns, 0,
			    (sent ? sent : received)[i].seconds, !sent);
		printf("}}");
	}
	printf("]");
	if (sent)
		print_sum(flow, "sum_sent", sent, sent[0].seconds, false);
	print_sum(flow, "sum_received", received, received[0].seconds, true);
	printf("}}\n");
}

static void print_start(const struct flow *flow, int octets)
{
	printf("{\"start\":{\"version\":\"udpflow\","
	       "\"timestamp\":{\"timesecs\":%.9f},\"connected\":[",
	       flow->start_ns / 1e9);
	for (int i = 0; !flow->receives && i < flow->count; i++) {
		struct sockaddr_in here, there;
		socklen_t size = sizeof(here), there_size = sizeof(there);
		char host[INET_ADDRSTRLEN], peer[INET_ADDRSTRLEN];

		if (getsockname(flow->streams[i].fd, (struct sockaddr *)&here,
				&size) ||
		    getpeername(flow->streams[i].fd, (struct sockaddr *)&there,
				&there_size))
			fail("getting the addresses");
		inet_ntop(AF_INET, &here.sin_addr, host, sizeof(host));
		inet_ntop(AF_INET, &there.sin_addr, peer, sizeof(peer));
		printf("%s{\"socket\":%d,\"local_host\":\"%s\",\"local_port\":%d,"
		       "\"remote_host\":\"%s\",\"remote_port\":%d}",
		       i ? "," : "", i + 1, host, ntohs(here.sin_port), peer,
		       ntohs(there.sin_port));
	}
	printf("],\"test_start\":{\"protocol\":\"UDP\",\"num_streams\":%d,"
	       "\"blksize\":%d}},\n\"intervals\":[", flow->count, octets);
}

/* Receiver */

struct received {
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH];
	struct header headers[BATCH];
	char control[BATCH][CMSG_SPACE(sizeof(struct timespec))];
};

static void prepare(struct received *batch)
{
	for (int i = 0; i < BATCH; i++) {
		struct msghdr *message = &batch->messages[i].msg_hdr;

		batch->parts[i].iov_base = &batch->headers[i];
		batch->parts[i].iov_len = sizeof(batch->headers[i]);
		message->msg_iov = &batch->parts[i];
		message->msg_iovlen = 1;
		message->msg_control = batch->control[i];
		message->msg_controllen = sizeof(batch->control[i]);
	}
}

static int64_t arrival_ns(struct msghdr *message)
{
	struct cmsghdr *control = CMSG_FIRSTHDR(message);
	struct timespec at;

	if (!control || control->cmsg_type != SCM_TIMESTAMPNS) {
		fputs("udpflow: a datagram has no arrival time\n", stderr);
		exit(1);
	}
	memcpy(&at, CMSG_DATA(control), sizeof(at));
	return at.tv_sec * NSEC_PER_SEC + at.tv_nsec;
}

static void count_number(struct count *total, uint64_t number)
{
	if (number > total->packets) {
		total->lost += number - total->packets - 1;
		total->packets = number;
	} else {
		total->out_of_order++;
		if (total->lost)
			total->lost--;
	}
}

static void count_jitter(struct stream *stream, int64_t transit_ns)
{
	int64_t change_ns = llabs(transit_ns - stream->transit_ns);

	if (stream->has_transit)
		stream->jitter_ns += (change_ns - stream->jitter_ns) / 16;
	stream->transit_ns = transit_ns;
	stream->has_transit = true;
}

static void count_datagram(struct flow *flow, struct mmsghdr *datagram,
			   const struct header *header)
{
	uint32_t number = be32toh(header->stream);
	struct stream *stream;

	if (datagram->msg_len < sizeof(*header) ||
	    number >= (uint32_t)flow->count)
		return;
	stream = &flow->streams[number];
	stream->total.bytes += datagram->msg_len;
	count_number(&stream->total, be64toh(header->number));
	count_jitter(stream, arrival_ns(&datagram->msg_hdr) -
			     (int64_t)be64toh(header->sent_ns));
}

/* Receive all datagrams that have arrived. */
static void receive_waiting(struct flow *flow, int fd)
{
	static struct received batch;
	int received;

	do {
		prepare(&batch);
		/* MSG_TRUNC: msg_len is the length of the whole datagram. */
		received = recvmmsg(fd, batch.messages, BATCH,
				    MSG_DONTWAIT | MSG_TRUNC, NULL);
		if (received < 0 && errno != EAGAIN)
			fail("receiving");
		for (int i = 0; i < received; i++)
			count_datagram(flow, &batch.messages[i],
				       &batch.headers[i]);
	} while (received == BATCH);
}

static int open_receiver(const struct sockaddr_in *here)
{
	int fd = bound_socket(SOCK_DGRAM, here);
	const int size = RECEIVE_BUFFER / 2; /* the kernel doubles it */
	const int on = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		fail("setting the size of the receive buffer");
	if (setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)))
		fail("requesting arrival times");
	return fd;
}

static int accept_sender(const struct sockaddr_in *here)
{
	int listener = bound_socket(SOCK_STREAM, here), fd;

	if (listen(listener, 1))
		fail("listening");
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		fail("accepting the sender");
	close(listener);
	return fd;
}

static void receive(const struct sockaddr_in *here)
{
	static struct flow flow = { .receives = true };
	static struct result results[MAX_STREAMS];
	int data = open_receiver(here), control = accept_sender(here);
	struct pollfd end = { .fd = control, .events = POLLIN };
	struct request request;
	double seconds;
	long long now;
	char byte = 0;

	get(control, &request, sizeof(request));
	if (request.streams < 1 || request.streams > MAX_STREAMS) {
		fputs("udpflow: the other end is not udpflow\n", stderr);
		exit(1);
	}
	flow.count = request.streams;
	put(control, &byte, 1);
	flow.start_ns = flow.interval_ns = now_ns(CLOCK_REALTIME);
	print_start(&flow, request.octets);
	while (!poll(&end, 1, READ_MS)) {
		receive_waiting(&flow, data);
		check_interval(&flow, now_ns(CLOCK_REALTIME));
	}
	get(control, &byte, 1);
	receive_waiting(&flow, data);
	now = now_ns(CLOCK_REALTIME);
	seconds = (now - flow.start_ns) / 1e9;
	if (now > flow.interval_ns)
		end_interval(&flow, now);
	for (int i = 0; i < flow.count; i++)
		results[i] = (struct result){ flow.streams[i].total,
					      flow.streams[i].jitter_ns,
					      seconds };
	put(control, results, flow.count * sizeof(*results));
	print_end(&flow, NULL, results);
}

/* Sender */

struct schedule {
	long long start_ns;
	double datagrams_per_ns;
	int octets;
};

/* Send what is due. Returns false if the socket is full. */
static bool send_due(struct stream *stream, int number,
		     const struct schedule *schedule, long long now)
{
	static char payload[MAX_OCTETS];
	static struct mmsghdr batch[BATCH];
	static struct header headers[BATCH];
	static struct iovec parts[BATCH][2];
	uint64_t due = (now - schedule->start_ns) * schedule->datagrams_per_ns + 1;
	int sent = BATCH;

	while (stream->total.packets < due && sent == BATCH) {
		uint64_t next = stream->total.packets + 1;
		int length = due - next + 1 < BATCH ? due - next + 1 : BATCH;

		for (int i = 0; i < length; i++) {
			headers[i] = (struct header){ htobe32(number), 0,
						      htobe64(next + i),
						      htobe64(now) };
			parts[i][0] = (struct iovec){ &headers[i],
						      sizeof(headers[i]) };
			parts[i][1] = (struct iovec){
				payload, schedule->octets - sizeof(headers[i]) };
			batch[i].msg_hdr.msg_iov = parts[i];
			batch[i].msg_hdr.msg_iovlen = 2;
		}
		sent = sendmmsg(stream->fd, batch, length, MSG_DONTWAIT);
		if (sent < 0 && errno != EAGAIN && errno != ENOBUFS &&
		    errno != ECONNREFUSED)
			fail("sending");
		if (sent < 0)
			return false;
		stream->total.packets += sent;
		stream->total.bytes += (uint64_t)sent * schedule->octets;
		if (sent < length)
			return false;
	}
	return true;
}

static void set_buffer(int fd, int octets)
{
	const int half = octets / 2; /* the kernel doubles it */

	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &half, sizeof(half)))
		fail("setting the size of the send buffer");
}

/*
 * Wait for the next tick, or until a full socket is writable; if all are full, only
 * for the latter, or the end.
 *
 * The kernel accepts datagrams until the buffer is full, but reports a socket as
 * writable only while less than half of it is in use. The buffer therefore has half
 * of its size while datagrams are sent.
 */
static void wait_for_room(const struct flow *flow, struct pollfd *full,
			  int count, long long now, long long end)
{
	long long tick = now + TICK_NS - (now - flow->start_ns) % TICK_NS;
	long long until = count == flow->count || tick > end ? end : tick;
	struct timespec left = { (until - now) / NSEC_PER_SEC,
				 (until - now) % NSEC_PER_SEC };

	for (int i = 0; i < count; i++)
		set_buffer(full[i].fd, flow->buffer);
	if (ppoll(full, count, &left, NULL) < 0)
		fail("waiting");
	for (int i = 0; i < count; i++)
		set_buffer(full[i].fd, flow->buffer / 2);
}

static void send_until(struct flow *flow, const struct schedule *schedule,
		       long long end)
{
	long long now = schedule->start_ns;

	while (now < end) {
		struct pollfd full[MAX_STREAMS];
		int count = 0;

		for (int i = 0; i < flow->count; i++) {
			struct stream *stream = &flow->streams[i];

			if (!send_due(stream, i, schedule, now))
				full[count++] = (struct pollfd){ stream->fd,
								 POLLOUT, 0 };
		}
		wait_for_room(flow, full, count, now, end);
		now = now_ns(CLOCK_REALTIME);
		if (now < end)
			check_interval(flow, now);
	}
}

static void open_streams(struct flow *flow, const struct sockaddr_in *there,
			 int tos)
{
	socklen_t size = sizeof(flow->buffer);

	for (int i = 0; i < flow->count; i++) {
		int fd = connected_socket(SOCK_DGRAM, there);

		if (getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &flow->buffer, &size))
			fail("getting the size of the send buffer");
		set_buffer(fd, flow->buffer / 2);
		if (setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)))
			fail("setting the TOS octet");
		flow->streams[i].fd = fd;
	}
}

static void send_all(const struct sockaddr_in *there, int streams, int tos,
		     int octets, double rate_bps, double seconds)
{
	static struct flow flow;
	static struct result sent[MAX_STREAMS], received[MAX_STREAMS];
	const struct request request = { streams, octets };
	struct schedule schedule = {
		.octets = octets,
		.datagrams_per_ns = rate_bps / 8 / octets / NSEC_PER_SEC,
	};
	int control = connected_socket(SOCK_STREAM, there);
	long long now;
	char byte = 0;

	flow.count = streams;
	open_streams(&flow, there, tos);
	put(control, &request, sizeof(request));
	get(control, &byte, 1);
	flow.start_ns = flow.interval_ns = now_ns(CLOCK_REALTIME);
	print_start(&flow, octets);
	schedule.start_ns = flow.start_ns;
	send_until(&flow, &schedule, flow.start_ns + seconds * NSEC_PER_SEC);
	now = now_ns(CLOCK_REALTIME);
	end_interval(&flow, now);
	put(control, &byte, 1);
	get(control, received, streams * sizeof(*received));
	for (int i = 0; i < streams; i++)
		sent[i] = (struct result){ flow.streams[i].total, 0,
					   (now - flow.start_ns) / 1e9 };
	print_end(&flow, sent, received);
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
		return 0;
	}
	if (argc != 5 || strcmp(argv[0], "send"))
		usage();
	address = endpoint(argv[1], port);
	send_all(&address, streams, tos,
		 number(argv[2], sizeof(struct header), MAX_OCTETS),
		 decimal(argv[3], 1, MAX_RATE),
		 decimal(argv[4], 0.001, MAX_SECONDS));
	return 0;
}
