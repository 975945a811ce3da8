// SPDX-License-Identifier: GPL-2.0-only
/* Receive datagrams, and count what arrives, is lost or reordered, and jitter. */
#define _GNU_SOURCE
#include <endian.h>
#include <poll.h>
#include <unistd.h>

#include "udpflow.h"

#define READ_MS		10
/* More than arrives in READ_MS at 10 Gbit/s, as the kernel charges for it. */
#define RECEIVE_BUFFER	(64 << 20)

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

/* The first datagram has arrived, or none has. */
static void begin(struct flow *flow, long long at_ns)
{
	flow->start_ns = flow->interval_ns = at_ns;
	print_start(flow, flow->octets);
}

static void count_datagram(struct flow *flow, struct mmsghdr *datagram,
			   const struct header *header)
{
	uint32_t number = be32toh(header->stream);
	struct stream *stream;

	if (datagram->msg_len < sizeof(*header) ||
	    number >= (uint32_t)flow->count)
		return;
	flow->arrival_ns = arrival_ns(&datagram->msg_hdr);
	if (!flow->start_ns)
		begin(flow, flow->arrival_ns);
	stream = &flow->streams[number];
	stream->total.bytes += datagram->msg_len;
	count_number(&stream->total, be64toh(header->number));
	count_jitter(stream,
		     flow->arrival_ns - (int64_t)be64toh(header->sent_ns));
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

static int bound_socket(int type, const struct sockaddr_in *here)
{
	int fd = open_socket(type), on = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, (const struct sockaddr *)here, sizeof(*here)))
		fail("binding to the port");
	return fd;
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

void receive(const struct sockaddr_in *here)
{
	static struct flow flow = { .receives = true };
	static struct result results[MAX_STREAMS];
	int data = open_receiver(here), control = accept_sender(here);
	struct pollfd end = { .fd = control, .events = POLLIN };
	struct request request;
	const char ready = 0;
	struct end message;
	long long end_ns;

	get(control, &request, sizeof(request));
	if (request.streams < 1 || request.streams > MAX_STREAMS) {
		fputs("udpflow: the other end is not udpflow\n", stderr);
		exit(1);
	}
	flow.count = request.streams;
	flow.octets = request.octets;
	put(control, &ready, sizeof(ready));
	while (!poll(&end, 1, READ_MS)) {
		receive_waiting(&flow, data);
		if (flow.start_ns)
			check_interval(&flow, now_ns(CLOCK_REALTIME));
	}
	get(control, &message, sizeof(message));
	receive_waiting(&flow, data);
	if (!flow.start_ns)
		begin(&flow, now_ns(CLOCK_REALTIME));
	/* The message may be late: it is sent again if it was lost. */
	end_ns = flow.start_ns + message.length_ns;
	if (end_ns < flow.arrival_ns)
		end_ns = flow.arrival_ns;
	if (end_ns > flow.interval_ns)
		end_interval(&flow, end_ns);
	for (int i = 0; i < flow.count; i++)
		results[i] = (struct result){ flow.streams[i].total,
					      flow.streams[i].jitter_ns,
					      (end_ns - flow.start_ns) / 1e9 };
	put(control, results, flow.count * sizeof(*results));
	print_end(&flow, NULL, results);
}
