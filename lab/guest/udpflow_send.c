// SPDX-License-Identifier: GPL-2.0-only
/* Send datagrams at a constant rate. */
#define _GNU_SOURCE
#include <endian.h>
#include <poll.h>

#include "udpflow.h"

#define TICK_NS		1000000

struct schedule {
	double datagrams_per_ns;
	int octets;
};

/* Send what is due. Returns false if the socket is full. */
static bool send_due(struct flow *flow, int number,
		     const struct schedule *schedule, long long now)
{
	static char payload[MAX_OCTETS];
	static struct mmsghdr batch[BATCH];
	static struct header headers[BATCH];
	static struct iovec parts[BATCH][2];
	struct stream *stream = &flow->streams[number];
	uint64_t due = (now - flow->start_ns) * schedule->datagrams_per_ns + 1;
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
	long long now = flow->start_ns;

	while (now < end) {
		struct pollfd full[MAX_STREAMS];
		int count = 0;

		for (int i = 0; i < flow->count; i++)
			if (!send_due(flow, i, schedule, now))
				full[count++] = (struct pollfd){
					flow->streams[i].fd, POLLOUT, 0 };
		wait_for_room(flow, full, count, now, end);
		now = now_ns(CLOCK_REALTIME);
		if (now < end)
			check_interval(flow, now);
	}
}

static int connected_socket(int type, const struct sockaddr_in *there)
{
	int fd = open_socket(type);

	if (connect(fd, (const struct sockaddr *)there, sizeof(*there)))
		fail("connecting");
	return fd;
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

void send_all(const struct sockaddr_in *there, int streams, int tos,
	      int octets, double rate_bps, double seconds)
{
	static struct flow flow;
	static struct result sent[MAX_STREAMS], received[MAX_STREAMS];
	const struct request request = { streams, octets };
	const struct schedule schedule = {
		.octets = octets,
		.datagrams_per_ns = rate_bps / 8 / octets / NSEC_PER_SEC,
	};
	int control = connected_socket(SOCK_STREAM, there);
	struct end end;
	long long now;
	char byte;

	flow.count = streams;
	open_streams(&flow, there, tos);
	put(control, &request, sizeof(request));
	get(control, &byte, 1);
	flow.start_ns = flow.interval_ns = now_ns(CLOCK_REALTIME);
	print_start(&flow, octets);
	send_until(&flow, &schedule, flow.start_ns + seconds * NSEC_PER_SEC);
	now = now_ns(CLOCK_REALTIME);
	end_interval(&flow, now);
	end.length_ns = now - flow.start_ns;
	put(control, &end, sizeof(end));
	get(control, received, streams * sizeof(*received));
	for (int i = 0; i < streams; i++)
		sent[i] = (struct result){ flow.streams[i].total, 0,
					   (now - flow.start_ns) / 1e9 };
	print_end(&flow, sent, received);
}
