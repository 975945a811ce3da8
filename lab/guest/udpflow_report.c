// SPDX-License-Identifier: GPL-2.0-only
/* The JSON of udpflow. Times are in seconds since the start. */
#define _GNU_SOURCE
#include "udpflow.h"

void print_start(const struct flow *flow, int octets)
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

void end_interval(struct flow *flow, long long now)
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
void check_interval(struct flow *flow, long long now)
{
	if (now - flow->interval_ns >= NSEC_PER_SEC)
		end_interval(flow, now);
}

static void print_sum(const struct flow *flow, const char *name,
		      const struct result *results, bool of_receiver)
{
	struct count sum = { 0 };
	double jitter_ns = 0;

	for (int i = 0; i < flow->count; i++) {
		add(&sum, &results[i].total);
		jitter_ns += results[i].jitter_ns / flow->count;
	}
	printf(",\n\"%s\":{", name);
	print_count(flow, &sum, jitter_ns, 0, results[0].seconds, of_receiver);
	printf("}");
}

/* received: the results of the receiver; sent: those of the sender, if known. */
void print_end(const struct flow *flow, const struct result *sent,
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
		print_sum(flow, "sum_sent", sent, false);
	print_sum(flow, "sum_received", received, true);
	printf("}}\n");
}
