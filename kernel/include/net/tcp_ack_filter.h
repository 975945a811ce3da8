/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which TCP acknowledgments in a queue a newer one makes superfluous.
 *
 * An ACK is cumulative, so a newer one of its connection says all that it says,
 * if it says nothing else: it has no data, no flag but ACK (so no ECE, CWR or
 * AccECN count), no option but timestamps (so no SACK), and the newer one
 * acknowledges more. An equal number is a duplicate, by which loss is found,
 * or a window update.
 */
#ifndef _NET_TCP_ACK_FILTER_H
#define _NET_TCP_ACK_FILTER_H

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/tcp.h>

/**
 * struct tcp_bare_ack - a segment that does nothing but acknowledge
 * @saddr: whose it is; IPv4 addresses are mapped into IPv6
 * @daddr: for whom
 * @source: port
 * @dest: port
 * @ack: acknowledgment number
 * @window: as on the wire, not scaled
 */
struct tcp_bare_ack {
	struct in6_addr saddr;
	struct in6_addr daddr;
	__be16 source;
	__be16 dest;
	u32 ack;
	u16 window;
};

static inline bool tcp_ack_has_timestamps_only(const struct sk_buff *skb,
					       int at, int octets)
{
	u8 kind[2];

	while (octets > 0) {
		if (skb_copy_bits(skb, at, kind, 1))
			return false;
		if (kind[0] == TCPOPT_EOL)
			return true;
		if (kind[0] == TCPOPT_NOP) {
			at++;
			octets--;
			continue;
		}
		if (octets < TCPOLEN_TIMESTAMP ||
		    skb_copy_bits(skb, at, kind, sizeof(kind)) ||
		    kind[0] != TCPOPT_TIMESTAMP || kind[1] != TCPOLEN_TIMESTAMP)
			return false;
		at += TCPOLEN_TIMESTAMP;
		octets -= TCPOLEN_TIMESTAMP;
	}
	return true;
}

/**
 * tcp_bare_ack_read - look whether a packet is a bare acknowledgment
 * @skb: the packet; its network header is set, and counted from skb->data
 * @bare: filled in if it is
 *
 * Packets with IP options, extension headers or that are fragments are none.
 *
 * Return: whether it is.
 */
static inline bool tcp_bare_ack_read(const struct sk_buff *skb,
				     struct tcp_bare_ack *bare)
{
	int at = skb_network_offset(skb), ends;
	const struct ipv6hdr *ip6;
	struct ipv6hdr _ip6;
	const struct iphdr *ip;
	const struct tcphdr *th;
	struct tcphdr _th;
	struct iphdr _ip;

	if (at < 0 || skb_has_frag_list(skb))
		return false;
	switch (skb->protocol) {
	case htons(ETH_P_IP):
		ip = skb_header_pointer(skb, at, sizeof(_ip), &_ip);
		if (!ip || ip->version != 4 || ip->ihl != 5 ||
		    ip->protocol != IPPROTO_TCP || ip_is_fragment(ip))
			return false;
		ipv6_addr_set_v4mapped(ip->saddr, &bare->saddr);
		ipv6_addr_set_v4mapped(ip->daddr, &bare->daddr);
		ends = at + ntohs(ip->tot_len);
		at += sizeof(*ip);
		break;
	case htons(ETH_P_IPV6):
		ip6 = skb_header_pointer(skb, at, sizeof(_ip6), &_ip6);
		if (!ip6 || ip6->version != 6 || ip6->nexthdr != IPPROTO_TCP)
			return false;
		bare->saddr = ip6->saddr;
		bare->daddr = ip6->daddr;
		at += sizeof(*ip6);
		ends = at + ntohs(ip6->payload_len);
		break;
	default:
		return false;
	}
	th = skb_header_pointer(skb, at, sizeof(_th), &_th);
	if (!th || th->doff < sizeof(*th) / 4 || at + th->doff * 4 != ends ||
	    (tcp_flag_word(th) & htonl(0x0fff0000)) != TCP_FLAG_ACK ||
	    !tcp_ack_has_timestamps_only(skb, at + sizeof(*th),
					 th->doff * 4 - sizeof(*th)))
		return false;
	bare->source = th->source;
	bare->dest = th->dest;
	bare->ack = ntohl(th->ack_seq);
	bare->window = ntohs(th->window);
	return true;
}

/**
 * tcp_bare_ack_same_flow - do two acknowledgments belong to one connection
 * @one: an acknowledgment
 * @other: another
 */
static inline bool tcp_bare_ack_same_flow(const struct tcp_bare_ack *one,
					  const struct tcp_bare_ack *other)
{
	return one->source == other->source && one->dest == other->dest &&
	       ipv6_addr_equal(&one->saddr, &other->saddr) &&
	       ipv6_addr_equal(&one->daddr, &other->daddr);
}

/**
 * tcp_bare_ack_supersedes - is an acknowledgment superfluous beside a newer one
 * @newer: the newer one
 * @older: the one that waits
 * @windows: keep it also if its window is another than the newer one's
 */
static inline bool tcp_bare_ack_supersedes(const struct tcp_bare_ack *newer,
					   const struct tcp_bare_ack *older,
					   bool windows)
{
	return tcp_bare_ack_same_flow(newer, older) &&
	       after(newer->ack, older->ack) &&
	       (!windows || newer->window == older->window);
}

#endif
