// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Find TCP ACKs in a queue that are made redundant by a newer segment.
 *
 * Moved from net/sched/sch_cake.c:
 * Copyright (C) 2014-2018 Jonathan Morton <chromatix99@gmail.com>
 * Copyright (C) 2015-2018 Toke Høiland-Jørgensen <toke@toke.dk>
 * Copyright (C) 2014-2018 Dave Täht <dave.taht@gmail.com>
 * Copyright (C) 2015-2018 Sebastian Moeller <moeller0@gmx.de>
 * (C) 2015-2018 Kevin Darbyshire-Bryant <kevin@darbyshire-bryant.me.uk>
 * Copyright (C) 2017-2018 Ryan Mounce <ryan@mounce.com.au>
 *
 * The owner of the queue walks it from the head to the tail:
 *
 *	if (!tcp_ack_filter_init(&filter, newer))
 *		return NULL;
 *	for each older packet in the queue
 *		if (tcp_ack_filter_check(&filter, older))
 *			return filter.candidate;
 *	if (aggressive && tcp_ack_filter_check_last(&filter, older))
 *		return filter.candidate;
 *	return NULL;
 *
 * At most one ACK is dropped for each queued packet, and that packet itself is
 * never dropped, so the last ACK of a connection is always kept.
 */

#include <linux/export.h>
#include <linux/module.h>
#include <linux/unaligned.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/tcp.h>
#include <net/tcp_ack_filter.h>

#define TCP_ACK_FILTER_ECN	(TCP_FLAG_ECE | TCP_FLAG_CWR)

static const struct iphdr *tcp_ack_get_iphdr(const struct sk_buff *skb,
					     struct ipv6hdr *buf)
{
	unsigned int offset = skb_network_offset(skb);
	const struct iphdr *iph;

	iph = skb_header_pointer(skb, offset, sizeof(struct iphdr), buf);

	if (!iph)
		return NULL;

	if (iph->version == 4 && iph->protocol == IPPROTO_IPV6)
		return skb_header_pointer(skb, offset + iph->ihl * 4,
					  sizeof(struct ipv6hdr), buf);

	else if (iph->version == 4)
		return iph;

	else if (iph->version == 6)
		return skb_header_pointer(skb, offset, sizeof(struct ipv6hdr),
					  buf);

	return NULL;
}

static const struct tcphdr *tcp_ack_get_tcphdr(const struct sk_buff *skb,
					       void *buf, unsigned int bufsize)
{
	unsigned int offset = skb_network_offset(skb);
	const struct ipv6hdr *ipv6h;
	const struct tcphdr *tcph;
	const struct iphdr *iph;
	struct ipv6hdr _ipv6h;
	struct tcphdr _tcph;

	ipv6h = skb_header_pointer(skb, offset, sizeof(_ipv6h), &_ipv6h);

	if (!ipv6h)
		return NULL;

	if (ipv6h->version == 4) {
		iph = (struct iphdr *)ipv6h;
		offset += iph->ihl * 4;

		/* special-case 6in4 tunnelling, as that is a common way to get
		 * v6 connectivity in the home
		 */
		if (iph->protocol == IPPROTO_IPV6) {
			ipv6h = skb_header_pointer(skb, offset,
						   sizeof(_ipv6h), &_ipv6h);

			if (!ipv6h || ipv6h->nexthdr != IPPROTO_TCP)
				return NULL;

			offset += sizeof(struct ipv6hdr);

		} else if (iph->protocol != IPPROTO_TCP) {
			return NULL;
		}

	} else if (ipv6h->version == 6) {
		if (ipv6h->nexthdr != IPPROTO_TCP)
			return NULL;

		offset += sizeof(struct ipv6hdr);
	} else {
		return NULL;
	}

	tcph = skb_header_pointer(skb, offset, sizeof(_tcph), &_tcph);
	if (!tcph || tcph->doff < 5)
		return NULL;

	return skb_header_pointer(skb, offset,
				  min(__tcp_hdrlen(tcph), bufsize), buf);
}

static bool tcp_ack_get_segment(const struct sk_buff *skb,
				struct tcp_ack_segment *seg)
{
	seg->tcph = tcp_ack_get_tcphdr(skb, seg->tcph_buf,
				       sizeof(seg->tcph_buf));
	if (!seg->tcph)
		return false;

	seg->iph = tcp_ack_get_iphdr(skb, &seg->iph_buf);
	if (!seg->iph)
		return false;

	if (seg->iph->version == 4)
		seg->len = iph_totlen(skb, seg->iph) - 4 * seg->iph->ihl;
	else if (seg->iph->version == 6)
		seg->len = ipv6_payload_len(skb, (struct ipv6hdr *)seg->iph);
	else
		return false;

	return true;
}

static bool tcp_ack_same_flow(const struct tcp_ack_segment *a,
			      const struct tcp_ack_segment *b)
{
	const struct ipv6hdr *ipv6h_a, *ipv6h_b;

	if (a->iph->version != b->iph->version ||
	    a->tcph->source != b->tcph->source ||
	    a->tcph->dest != b->tcph->dest)
		return false;

	if (a->iph->version == 4)
		return a->iph->saddr == b->iph->saddr &&
		       a->iph->daddr == b->iph->daddr;

	ipv6h_a = (const struct ipv6hdr *)a->iph;
	ipv6h_b = (const struct ipv6hdr *)b->iph;

	return !ipv6_addr_cmp(&ipv6h_a->saddr, &ipv6h_b->saddr) &&
	       !ipv6_addr_cmp(&ipv6h_a->daddr, &ipv6h_b->daddr);
}

static const void *tcp_ack_get_tcpopt(const struct tcphdr *tcph,
				      int code, int *oplen)
{
	/* inspired by tcp_parse_options in tcp_input.c */
	int length = __tcp_hdrlen(tcph) - sizeof(struct tcphdr);
	const u8 *ptr = (const u8 *)(tcph + 1);

	while (length > 0) {
		int opcode = *ptr++;
		int opsize;

		if (opcode == TCPOPT_EOL)
			break;
		if (opcode == TCPOPT_NOP) {
			length--;
			continue;
		}
		if (length < 2)
			break;
		opsize = *ptr++;
		if (opsize < 2 || opsize > length)
			break;

		if (opcode == code) {
			*oplen = opsize;
			return ptr;
		}

		ptr += opsize - 2;
		length -= opsize;
	}

	return NULL;
}

/* Compare two SACK sequences. A sequence is considered greater if it SACKs more
 * bytes than the other. In the case where both sequences ACKs bytes that the
 * other doesn't, A is considered greater. DSACKs in A also makes A be
 * considered greater.
 *
 * @return -1, 0 or 1 as normal compare functions
 */
static int tcp_ack_sack_compare(const struct tcphdr *tcph_a,
				const struct tcphdr *tcph_b)
{
	const struct tcp_sack_block_wire *sack_a, *sack_b;
	u32 ack_seq_a = ntohl(tcph_a->ack_seq);
	u32 bytes_a = 0, bytes_b = 0;
	int oplen_a, oplen_b;
	bool first = true;

	sack_a = tcp_ack_get_tcpopt(tcph_a, TCPOPT_SACK, &oplen_a);
	sack_b = tcp_ack_get_tcpopt(tcph_b, TCPOPT_SACK, &oplen_b);

	/* pointers point to option contents */
	oplen_a -= TCPOLEN_SACK_BASE;
	oplen_b -= TCPOLEN_SACK_BASE;

	if (sack_a && oplen_a >= sizeof(*sack_a) &&
	    (!sack_b || oplen_b < sizeof(*sack_b)))
		return -1;
	else if (sack_b && oplen_b >= sizeof(*sack_b) &&
		 (!sack_a || oplen_a < sizeof(*sack_a)))
		return 1;
	else if ((!sack_a || oplen_a < sizeof(*sack_a)) &&
		 (!sack_b || oplen_b < sizeof(*sack_b)))
		return 0;

	while (oplen_a >= sizeof(*sack_a)) {
		const struct tcp_sack_block_wire *sack_tmp = sack_b;
		u32 start_a = get_unaligned_be32(&sack_a->start_seq);
		u32 end_a = get_unaligned_be32(&sack_a->end_seq);
		int oplen_tmp = oplen_b;
		bool found = false;

		/* DSACK; always considered greater to prevent dropping */
		if (before(start_a, ack_seq_a))
			return -1;

		bytes_a += end_a - start_a;

		while (oplen_tmp >= sizeof(*sack_tmp)) {
			u32 start_b = get_unaligned_be32(&sack_tmp->start_seq);
			u32 end_b = get_unaligned_be32(&sack_tmp->end_seq);

			/* first time through we count the total size */
			if (first)
				bytes_b += end_b - start_b;

			if (!after(start_b, start_a) && !before(end_b, end_a)) {
				found = true;
				if (!first)
					break;
			}
			oplen_tmp -= sizeof(*sack_tmp);
			sack_tmp++;
		}

		if (!found)
			return -1;

		oplen_a -= sizeof(*sack_a);
		sack_a++;
		first = false;
	}

	/* If we made it this far, all ranges SACKed by A are covered by B, so
	 * either the SACKs are equal, or B SACKs more bytes.
	 */
	return bytes_b > bytes_a ? 1 : 0;
}

static void tcp_ack_get_tstamp(const struct tcphdr *tcph,
			       u32 *tsval, u32 *tsecr)
{
	const u8 *ptr;
	int opsize;

	ptr = tcp_ack_get_tcpopt(tcph, TCPOPT_TIMESTAMP, &opsize);

	if (ptr && opsize == TCPOLEN_TIMESTAMP) {
		*tsval = get_unaligned_be32(ptr);
		*tsecr = get_unaligned_be32(ptr + 4);
	}
}

static bool tcp_ack_may_drop(const struct tcphdr *tcph,
			     u32 tstamp_new, u32 tsecr_new)
{
	/* inspired by tcp_parse_options in tcp_input.c */
	int length = __tcp_hdrlen(tcph) - sizeof(struct tcphdr);
	const u8 *ptr = (const u8 *)(tcph + 1);
	u32 tstamp, tsecr;

	/* 3 reserved flags must be unset to avoid future breakage
	 * ACK must be set
	 * ECE/CWR are handled separately
	 * All other flags URG/PSH/RST/SYN/FIN must be unset
	 * 0x0FFF0000 = all TCP flags (confirm ACK=1, others zero)
	 * 0x00C00000 = CWR/ECE (handled separately)
	 * 0x0F3F0000 = 0x0FFF0000 & ~0x00C00000
	 */
	if (((tcp_flag_word(tcph) &
	      cpu_to_be32(0x0F3F0000)) != TCP_FLAG_ACK))
		return false;

	while (length > 0) {
		int opcode = *ptr++;
		int opsize;

		if (opcode == TCPOPT_EOL)
			break;
		if (opcode == TCPOPT_NOP) {
			length--;
			continue;
		}
		if (length < 2)
			break;
		opsize = *ptr++;
		if (opsize < 2 || opsize > length)
			break;

		switch (opcode) {
		case TCPOPT_MD5SIG: /* doesn't influence state */
			break;

		case TCPOPT_SACK: /* stricter checking performed later */
			if (opsize % 8 != 2)
				return false;
			break;

		case TCPOPT_TIMESTAMP:
			/* only drop timestamps lower than new */
			if (opsize != TCPOLEN_TIMESTAMP)
				return false;
			tstamp = get_unaligned_be32(ptr);
			tsecr = get_unaligned_be32(ptr + 4);
			if (after(tstamp, tstamp_new) ||
			    after(tsecr, tsecr_new))
				return false;
			break;

		case TCPOPT_MSS:  /* these should only be set on SYN */
		case TCPOPT_WINDOW:
		case TCPOPT_SACK_PERM:
		case TCPOPT_FASTOPEN:
		case TCPOPT_EXP:
		default: /* don't drop if any unknown options are present */
			return false;
		}

		ptr += opsize - 2;
		length -= opsize;
	}

	return true;
}

static bool tcp_ack_redundant(const struct tcp_ack_filter *filter,
			      const struct tcp_ack_segment *older)
{
	const struct tcphdr *tcph = filter->newer.tcph;
	const struct tcphdr *tcph_check = older->tcph;
	int sack_comp;

	/* Check TCP options and flags, don't drop ACKs with segment
	 * data, and don't drop ACKs with a higher cumulative ACK
	 * counter than the triggering packet. Check ACK seqno here to
	 * avoid parsing SACK options of packets we are going to exclude
	 * anyway.
	 */
	if (!tcp_ack_may_drop(tcph_check, filter->tsval, filter->tsecr) ||
	    older->len != __tcp_hdrlen(tcph_check) ||
	    after(ntohl(tcph_check->ack_seq), ntohl(tcph->ack_seq)))
		return false;

	/* Check SACK options. The triggering packet must SACK more data
	 * than the ACK under consideration, or SACK the same range but
	 * have a larger cumulative ACK counter. The latter is a
	 * pathological case, but is contained in the following check
	 * anyway, just to be safe.
	 */
	sack_comp = tcp_ack_sack_compare(tcph_check, tcph);

	return sack_comp > 0 ||
	       (sack_comp == 0 && tcph_check->ack_seq != tcph->ack_seq);
}

/**
 * tcp_ack_filter_init - start a walk over the queue of a packet
 * @filter: the state of the walk
 * @newer: the packet that is being queued, with its network header set; it must
 *	   not be freed before the end of the walk
 *
 * @newer may carry data, but must be a TCP segment with ACK set. SYN must not be
 * set, as there won't be any previous ACKs.
 *
 * Return: whether @newer can make ACKs redundant.
 */
bool tcp_ack_filter_init(struct tcp_ack_filter *filter,
			 const struct sk_buff *newer)
{
	if (!tcp_ack_get_segment(newer, &filter->newer) ||
	    (tcp_flag_word(filter->newer.tcph) &
	     (TCP_FLAG_ACK | TCP_FLAG_SYN)) != TCP_FLAG_ACK)
		return false;

	filter->tsval = 0;
	filter->tsecr = 0;
	tcp_ack_get_tstamp(filter->newer.tcph, &filter->tsval, &filter->tsecr);
	filter->candidate = NULL;

	return true;
}
EXPORT_SYMBOL_GPL(tcp_ack_filter_init);

/**
 * tcp_ack_filter_check - look at the next packet of the queue
 * @filter: the state of the walk
 * @older: the packet, with its network header set
 *
 * The first redundant ACK becomes the candidate, as the one closest to the head
 * of the queue is to be dropped. The second one confirms that.
 *
 * Return: true if the walk is over and the candidate can be dropped.
 */
bool tcp_ack_filter_check(struct tcp_ack_filter *filter, struct sk_buff *older)
{
	struct tcp_ack_segment seg;
	__be32 flags;

	if (!tcp_ack_get_segment(older, &seg) ||
	    !tcp_ack_same_flow(&seg, &filter->newer))
		return false;

	/* If the ECE/CWR flags changed from the previous eligible
	 * packet in the same flow, we should no longer be dropping that
	 * previous packet as this would lose information.
	 */
	flags = tcp_flag_word(seg.tcph) & TCP_ACK_FILTER_ECN;
	if (filter->candidate && flags != filter->candidate_flags)
		filter->candidate = NULL;

	if (!tcp_ack_redundant(filter, &seg))
		return false;

	if (filter->candidate)
		return true;

	filter->candidate = older;
	filter->candidate_flags = flags;

	return false;
}
EXPORT_SYMBOL_GPL(tcp_ack_filter_check);

/**
 * tcp_ack_filter_check_last - may a single redundant ACK be dropped?
 * @filter: the state of the walk, at its end
 * @last: the packet right before the newer one
 *
 * This is for aggressive filtering. A candidate that no second redundant ACK
 * follows can be dropped if that does not interfere with ECN flag information:
 * the newer packet is consecutive with it, and their flags match.
 *
 * Return: true if the candidate can be dropped.
 */
bool tcp_ack_filter_check_last(const struct tcp_ack_filter *filter,
			       const struct sk_buff *last)
{
	return filter->candidate && filter->candidate == last &&
	       filter->candidate_flags ==
	       (tcp_flag_word(filter->newer.tcph) & TCP_ACK_FILTER_ECN);
}
EXPORT_SYMBOL_GPL(tcp_ack_filter_check_last);

MODULE_DESCRIPTION("Filter of redundant TCP ACKs in queues");
MODULE_LICENSE("Dual BSD/GPL");
