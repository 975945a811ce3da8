/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _NET_TCP_ACK_FILTER_H
#define _NET_TCP_ACK_FILTER_H

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>

/**
 * struct tcp_ack_segment - the headers of a TCP segment
 * @iph: IPv4 or IPv6 header; of 6in4 it is the inner one
 * @tcph: TCP header with its options
 * @len: length of the TCP header and the payload
 * @iph_buf: storage for @iph if it is not linear in the skb
 * @tcph_buf: storage for @tcph if it is not linear in the skb
 */
struct tcp_ack_segment {
	const struct iphdr *iph;
	const struct tcphdr *tcph;
	int len;
	struct ipv6hdr iph_buf;
	u32 tcph_buf[15];
};

/**
 * struct tcp_ack_filter - state of one walk over a queue
 * @newer: the segment at the tail of the queue
 * @tsval: its timestamp value, 0 without the option
 * @tsecr: its timestamp echo reply, 0 without the option
 * @candidate: the ACK to drop, if any
 * @candidate_flags: its ECE and CWR flags
 */
struct tcp_ack_filter {
	struct tcp_ack_segment newer;
	u32 tsval;
	u32 tsecr;
	struct sk_buff *candidate;
	__be32 candidate_flags;
};

bool tcp_ack_filter_init(struct tcp_ack_filter *filter,
			 const struct sk_buff *newer);
bool tcp_ack_filter_check(struct tcp_ack_filter *filter, struct sk_buff *older);
bool tcp_ack_filter_check_last(const struct tcp_ack_filter *filter,
			       const struct sk_buff *last);

#endif
