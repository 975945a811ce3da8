/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of udpflow share. Needs _GNU_SOURCE. */
#ifndef AIRTCP_UDPFLOW_H
#define AIRTCP_UDPFLOW_H

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "program.h"

#define MAX_STREAMS	128
#define MAX_OCTETS	65507
/* Limit of sendmmsg() and recvmmsg(). */
#define BATCH		1024

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

/* The last message of the sender. */
struct end {
	int64_t length_ns;	/* how long it has sent */
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
	long long start_ns;	/* 0: not yet known */
	long long interval_ns;	/* start of the current interval */
	int octets;		/* of a datagram */
	long long arrival_ns;	/* receivers: of the last datagram */
	bool has_intervals;
};

/* udpflow.c: sockets, and messages on the TCP connection. */
int open_socket(int type);
void put(int fd, const void *data, size_t bytes);
void get(int fd, void *data, size_t bytes);

/* udpflow_send.c */
void send_all(const struct sockaddr_in *there, int streams, int tos,
	      int octets, double rate_bps, double seconds);

/* udpflow_receive.c */
void receive(const struct sockaddr_in *here);

/* udpflow_report.c: the JSON. */
void print_start(const struct flow *flow, int octets);
void check_interval(struct flow *flow, long long now);
void end_interval(struct flow *flow, long long now);
void print_end(const struct flow *flow, const struct result *sent,
	       const struct result *received);

#endif
