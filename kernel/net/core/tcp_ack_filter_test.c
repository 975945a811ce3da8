// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of the TCP ACK filter: packets queued, packets kept. */

#include <kunit/skbuff.h>
#include <kunit/test.h>
#include <linux/unaligned.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/tcp.h>
#include <net/tcp_ack_filter.h>

/* A TCP segment; zero members are those of an ACK of the test's connection. */
struct segment {
	u32 ack;
	u16 window;
	u8 flags;	/* in addition to ACK */
	u8 clear;	/* flags that are not set */
	u8 reserved;
	u8 payload;
	u8 host;
	u8 port;
	u8 protocol;
	bool ipv6;
	bool sit;	/* 6in4 */
	u32 tsval;	/* both 0: no timestamps */
	u32 tsecr;
	u32 sack[4];	/* start and end of blocks */
	u8 option;	/* kind of another option, of 4 bytes */
};

static void put_ip(struct sk_buff *skb, const struct segment *seg, u8 protocol,
		   u16 octets)
{
	struct iphdr *ip = skb_put_zero(skb, sizeof(*ip));

	ip->version = 4;
	ip->ihl = 5;
	ip->protocol = protocol;
	ip->tot_len = htons(sizeof(*ip) + octets);
	ip->saddr = htonl(0x0a000001 + seg->host);
	ip->daddr = htonl(0x0a0000ff);
}

static void put_ipv6(struct sk_buff *skb, const struct segment *seg,
		     u8 protocol, u16 octets)
{
	struct ipv6hdr *ip6 = skb_put_zero(skb, sizeof(*ip6));

	ip6->version = 6;
	ip6->nexthdr = protocol;
	ip6->payload_len = htons(octets);
	ip6->saddr.s6_addr[15] = 1 + seg->host;
	ip6->daddr.s6_addr[15] = 0xff;
}

static int put_options(u8 *to, const struct segment *seg)
{
	static const u8 stamps[] = { TCPOPT_NOP, TCPOPT_NOP, TCPOPT_TIMESTAMP,
				     TCPOLEN_TIMESTAMP };
	u8 *at = to;
	int i, n;

	if (seg->tsval || seg->tsecr) {
		memcpy(at, stamps, sizeof(stamps));
		put_unaligned_be32(seg->tsval, at + 4);
		put_unaligned_be32(seg->tsecr, at + 8);
		at += 12;
	}
	n = seg->sack[2] ? 4 : seg->sack[0] ? 2 : 0;
	if (n) {
		at[0] = TCPOPT_NOP;
		at[1] = TCPOPT_NOP;
		at[2] = TCPOPT_SACK;
		at[3] = TCPOLEN_SACK_BASE + 4 * n;
		for (i = 0; i < n; i++)
			put_unaligned_be32(seg->sack[i], at + 4 + 4 * i);
		at += 4 + 4 * n;
	}
	if (seg->option) {
		at[0] = seg->option;
		at[1] = 4;
		at[2] = 0;
		at[3] = 0;
		at += 4;
	}
	return at - to;
}

static struct sk_buff *make(struct kunit *test, const struct segment *seg)
{
	u8 protocol = seg->protocol ?: IPPROTO_TCP;
	struct tcphdr *th;
	u8 options[40];
	int n = put_options(options, seg);
	u16 octets = sizeof(*th) + n + seg->payload;
	struct sk_buff *skb;

	skb = kunit_zalloc_skb(test, 256, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	/* As in a queue: headers before the network header. */
	skb_put_zero(skb, 14);
	if (seg->sit)
		put_ip(skb, seg, IPPROTO_IPV6, sizeof(struct ipv6hdr) + octets);
	if (seg->ipv6 || seg->sit)
		put_ipv6(skb, seg, protocol, octets);
	else
		put_ip(skb, seg, protocol, octets);
	skb_set_network_header(skb, 14);

	th = skb_put_zero(skb, sizeof(*th));
	th->source = htons(1000 + seg->port);
	th->dest = htons(2000);
	th->ack_seq = htonl(seg->ack);
	th->window = htons(seg->window);
	((u8 *)th)[12] = (sizeof(*th) + n) / 4 << 4 | seg->reserved;
	((u8 *)th)[13] = (TCPHDR_ACK | seg->flags) & ~seg->clear;
	skb_put_data(skb, options, n);
	skb_put_zero(skb, seg->payload);
	return skb;
}

/* What the owner of a queue does with a new packet */
static struct sk_buff *enqueue(struct sk_buff_head *queue, struct sk_buff *skb,
			       bool aggressive)
{
	struct tcp_ack_filter filter;
	struct sk_buff *last, *older;

	last = skb_peek_tail(queue);
	__skb_queue_tail(queue, skb);
	if (!tcp_ack_filter_init(&filter, skb))
		return NULL;
	skb_queue_walk(queue, older) {
		if (older == skb)
			break;
		if (tcp_ack_filter_check(&filter, older))
			return filter.candidate;
	}
	if (aggressive && tcp_ack_filter_check_last(&filter, last))
		return filter.candidate;
	return NULL;
}

/* Queues segments and returns a bit for each, set if it is kept. The first
 * segment has the highest bit.
 */
static u32 queued(struct kunit *test, const struct segment *segs, int n,
		  bool aggressive)
{
	struct sk_buff *skbs[32], *dropped;
	struct sk_buff_head queue;
	u32 left = 0;
	int i, j;

	__skb_queue_head_init(&queue);
	for (i = 0; i < n; i++) {
		skbs[i] = make(test, &segs[i]);
		left |= BIT(n - 1 - i);
		dropped = enqueue(&queue, skbs[i], aggressive);
		if (!dropped)
			continue;
		__skb_unlink(dropped, &queue);
		for (j = 0; j < i; j++)
			if (skbs[j] == dropped)
				left &= ~BIT(n - 1 - j);
	}
	KUNIT_EXPECT_EQ(test, skb_queue_len(&queue), hweight32(left));
	return left;
}

#define EXPECT(_test, _left, _aggressive, ...) do {			\
	const struct segment segs[] = { __VA_ARGS__ };			\
	struct kunit *for_test = (_test);				\
									\
	KUNIT_EXPECT_EQ(for_test, _left,				\
			queued(for_test, segs, ARRAY_SIZE(segs),	\
			       _aggressive));				\
} while (0)
#define EXPECT_NORMAL(_test, _left, ...) \
	EXPECT(_test, _left, false, __VA_ARGS__)
#define EXPECT_AGGRESSIVE(_test, _left, ...) \
	EXPECT(_test, _left, true, __VA_ARGS__)

static void two_or_one_are_left(struct kunit *test)
{
	EXPECT_NORMAL(test, 0b1, { .ack = 1 });
	EXPECT_NORMAL(test, 0b11, { .ack = 1 }, { .ack = 2 });
	EXPECT_NORMAL(test, 0b011, { .ack = 1 }, { .ack = 2 }, { .ack = 3 });
	EXPECT_NORMAL(test, 0b00011, { .ack = 1 }, { .ack = 2 }, { .ack = 3 },
		      { .ack = 4 }, { .ack = 5 });
	EXPECT_AGGRESSIVE(test, 0b1, { .ack = 1 });
	EXPECT_AGGRESSIVE(test, 0b01, { .ack = 1 }, { .ack = 2 });
	EXPECT_AGGRESSIVE(test, 0b00001, { .ack = 1 }, { .ack = 2 },
			  { .ack = 3 }, { .ack = 4 }, { .ack = 5 });
}

static void only_a_greater_number_replaces(struct kunit *test)
{
	EXPECT_NORMAL(test, 0b1111, { .ack = 5 }, { .ack = 5 }, { .ack = 5 },
		      { .ack = 5 });
	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 5 }, { .ack = 5 });
	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 7 }, { .ack = 5 });
	EXPECT_AGGRESSIVE(test, 0b01, { .ack = U32_MAX }, { .ack = 5 });
	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 5 }, { .ack = U32_MAX });
}

static void only_a_window_update_stays(struct kunit *test)
{
	EXPECT_NORMAL(test, 0b011, { .ack = 1, .window = 7 },
		      { .ack = 2, .window = 0 }, { .ack = 3, .window = 9 });
	EXPECT_AGGRESSIVE(test, 0b01, { .ack = 1, .window = 7 },
			  { .ack = 2, .window = 9 });
	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 1, .window = 7 },
			  { .ack = 1, .window = 9 });
}

static void data_stay_and_acknowledge(struct kunit *test)
{
	EXPECT_AGGRESSIVE(test, 0b101, { .ack = 1, .payload = 1 }, { .ack = 2 },
			  { .ack = 3 });
	EXPECT_NORMAL(test, 0b1011, { .ack = 1, .payload = 1 },
		      { .ack = 2 }, { .ack = 3 },
		      { .ack = 4, .payload = 1 });
	EXPECT_NORMAL(test, 0b111, { .ack = 1 }, { .ack = 2, .payload = 1 },
		      { .ack = 3 });
	EXPECT_AGGRESSIVE(test, 0b01, { .ack = 1 },
			  { .ack = 2, .payload = 1 });
	EXPECT_NORMAL(test, 0b011, { .ack = 1 }, { .ack = 2 },
		      { .ack = 3, .payload = 1 });
}

static void what_has_other_flags_stays(struct kunit *test)
{
	static const u8 kept[] = {
		TCPHDR_FIN, TCPHDR_SYN, TCPHDR_RST, TCPHDR_PSH, TCPHDR_URG,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(kept); i++)
		EXPECT_AGGRESSIVE(test, 0b11, { .ack = 1, .flags = kept[i] },
				  { .ack = 2 });
	/* the AE bit of accurate ECN */
	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 1, .reserved = 1 },
			  { .ack = 2, .reserved = 1 });

	/* FIN acknowledges; SYN and segments without ACK do not */
	EXPECT_AGGRESSIVE(test, 0b01, { .ack = 1 },
			  { .ack = 2, .flags = TCPHDR_FIN });
	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 1 },
			  { .ack = 2, .flags = TCPHDR_SYN });
	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 1 },
			  { .ack = 2, .flags = TCPHDR_RST,
			    .clear = TCPHDR_ACK });
}

static void changes_of_ecn_flags_stay(struct kunit *test)
{
	static const u8 flags[] = { TCPHDR_ECE, TCPHDR_CWR };
	int i;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		EXPECT_NORMAL(test, 0b011, { .ack = 1, .flags = flags[i] },
			      { .ack = 2, .flags = flags[i] },
			      { .ack = 3, .flags = flags[i] });
		EXPECT_AGGRESSIVE(test, 0b01, { .ack = 1, .flags = flags[i] },
				  { .ack = 2, .flags = flags[i] });
		EXPECT_AGGRESSIVE(test, 0b11, { .ack = 1, .flags = flags[i] },
				  { .ack = 2 });
		EXPECT_AGGRESSIVE(test, 0b11, { .ack = 1 },
				  { .ack = 2, .flags = flags[i] });
		EXPECT_NORMAL(test, 0b111, { .ack = 1, .flags = flags[i] },
			      { .ack = 2 }, { .ack = 3 });
		EXPECT_AGGRESSIVE(test, 0b101, { .ack = 1, .flags = flags[i] },
				  { .ack = 2 }, { .ack = 3 });
		/* changed by segments with data */
		EXPECT_NORMAL(test, 0b1111, { .ack = 1, .flags = flags[i] },
			      { .ack = 2, .payload = 1 },
			      { .ack = 3, .flags = flags[i] },
			      { .ack = 4, .flags = flags[i] });
	}
}

static void newer_timestamps_stay(struct kunit *test)
{
	EXPECT_AGGRESSIVE(test, 0b01, { .ack = 1, .tsval = 10, .tsecr = 5 },
			  { .ack = 2, .tsval = 10, .tsecr = 5 });
	EXPECT_AGGRESSIVE(test, 0b01, { .ack = 1, .tsval = 10, .tsecr = 5 },
			  { .ack = 2, .tsval = 11, .tsecr = 6 });
	EXPECT_AGGRESSIVE(test, 0b01, { .ack = 1, .tsval = U32_MAX },
			  { .ack = 2, .tsval = 3 });
	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 1, .tsval = 10, .tsecr = 5 },
			  { .ack = 2, .tsval = 9, .tsecr = 5 });
	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 1, .tsval = 10, .tsecr = 5 },
			  { .ack = 2, .tsval = 10, .tsecr = 4 });
	/* the newer one has no timestamps */
	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 1, .tsval = 10, .tsecr = 5 },
			  { .ack = 2 });
	EXPECT_AGGRESSIVE(test, 0b01, { .ack = 1 },
			  { .ack = 2, .tsval = 10, .tsecr = 5 });
}

static void other_sack_blocks_stay(struct kunit *test)
{
	/* a duplicate ACK that SACKs more replaces one that SACKs less */
	EXPECT_AGGRESSIVE(test, 0b01, { .ack = 1 },
			  { .ack = 1, .sack = { 10, 20 } });
	EXPECT_AGGRESSIVE(test, 0b01, { .ack = 1, .sack = { 10, 20 } },
			  { .ack = 1, .sack = { 10, 30 } });
	EXPECT_AGGRESSIVE(test, 0b01, { .ack = 1, .sack = { 10, 20 } },
			  { .ack = 1, .sack = { 30, 40, 10, 20 } });
	EXPECT_AGGRESSIVE(test, 0b01, { .ack = 1, .sack = { 10, 20 } },
			  { .ack = 2, .sack = { 10, 20 } });
	EXPECT_NORMAL(test, 0b011, { .ack = 1, .sack = { 10, 20 } },
		      { .ack = 1, .sack = { 10, 30 } },
		      { .ack = 1, .sack = { 10, 40 } });

	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 1, .sack = { 10, 20 } },
			  { .ack = 1, .sack = { 10, 20 } });
	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 1, .sack = { 10, 30 } },
			  { .ack = 1, .sack = { 10, 20 } });
	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 1, .sack = { 10, 20 } },
			  { .ack = 2, .sack = { 30, 50 } });
	EXPECT_AGGRESSIVE(test, 0b11,
			  { .ack = 1, .sack = { 10, 20, 30, 40 } },
			  { .ack = 2, .sack = { 30, 50 } });
	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 1, .sack = { 10, 20 } },
			  { .ack = 25 });
	/* DSACK */
	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 10, .sack = { 5, 8 } },
			  { .ack = 11, .sack = { 5, 8 } });
}

static void unknown_options_stay(struct kunit *test)
{
	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 1, .option = TCPOPT_EXP },
			  { .ack = 2 });
	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 1, .option = TCPOPT_MSS },
			  { .ack = 2 });
	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 1, .option = 30 },
			  { .ack = 2 });
	/* SACK and timestamps of a wrong length */
	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 1, .option = TCPOPT_SACK },
			  { .ack = 2 });
	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 1, .option = TCPOPT_TIMESTAMP },
			  { .ack = 2 });
	EXPECT_AGGRESSIVE(test, 0b01, { .ack = 1, .option = TCPOPT_MD5SIG },
			  { .ack = 2 });
	/* only those of the dropped ACK matter */
	EXPECT_AGGRESSIVE(test, 0b01, { .ack = 1 },
			  { .ack = 2, .option = TCPOPT_EXP });
}

static void other_connections_stay(struct kunit *test)
{
	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 1, .port = 1 }, { .ack = 2 });
	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 1, .host = 1 }, { .ack = 2 });
	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 1, .ipv6 = true },
			  { .ack = 2 });
	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 1, .ipv6 = true, .host = 1 },
			  { .ack = 2, .ipv6 = true });
	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 1, .protocol = IPPROTO_UDP },
			  { .ack = 2 });
	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 1 },
			  { .ack = 2, .protocol = IPPROTO_UDP });
	/* other flows in between matter to the aggressive filter only */
	EXPECT_NORMAL(test, 0b001111, { .ack = 1 }, { .ack = 1, .port = 1 },
		      { .ack = 2, .port = 1 }, { .ack = 2 },
		      { .ack = 3, .port = 1, .flags = TCPHDR_ECE },
		      { .ack = 3 });
	EXPECT_AGGRESSIVE(test, 0b111, { .ack = 1 }, { .ack = 1, .port = 1 },
			  { .ack = 2 });
}

static void ipv6_is_as_ipv4(struct kunit *test)
{
	EXPECT_NORMAL(test, 0b011, { .ack = 1, .ipv6 = true },
		      { .ack = 2, .ipv6 = true }, { .ack = 3, .ipv6 = true });
	EXPECT_AGGRESSIVE(test, 0b01, { .ack = 1, .ipv6 = true },
			  { .ack = 2, .ipv6 = true });
	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 1, .ipv6 = true, .payload = 1 },
			  { .ack = 2, .ipv6 = true });
	EXPECT_AGGRESSIVE(test, 0b01, { .ack = 1, .sit = true },
			  { .ack = 2, .sit = true });
	EXPECT_AGGRESSIVE(test, 0b11, { .ack = 1, .sit = true, .payload = 1 },
			  { .ack = 2, .sit = true });
}

static void headers_need_not_be_linear(struct kunit *test)
{
	const struct segment segs[] = { { .ack = 1, .tsval = 5 },
					{ .ack = 2, .tsval = 6 },
					{ .ack = 3, .tsval = 5 } };
	struct sk_buff *linear, *skbs[ARRAY_SIZE(segs)];
	struct sk_buff_head queue;
	struct page *page;
	int i;

	__skb_queue_head_init(&queue);
	for (i = 0; i < ARRAY_SIZE(segs); i++) {
		linear = make(test, &segs[i]);
		skbs[i] = kunit_zalloc_skb(test, 64, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, skbs[i]);
		page = alloc_page(GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, page);
		/* the IP header is split, and TCP's is in the page */
		skb_put_data(skbs[i], linear->data, 14 + 10);
		memcpy(page_address(page), linear->data + 14 + 10,
		       linear->len - 14 - 10);
		skb_add_rx_frag(skbs[i], 0, page, 0, linear->len - 14 - 10,
				PAGE_SIZE);
		skb_set_network_header(skbs[i], 14);
	}
	KUNIT_EXPECT_NULL(test, enqueue(&queue, skbs[0], true));
	KUNIT_EXPECT_PTR_EQ(test, enqueue(&queue, skbs[1], true), skbs[0]);
	__skb_unlink(skbs[0], &queue);
	KUNIT_EXPECT_NULL(test, enqueue(&queue, skbs[2], true));
}

static void packets_can_be_short_or_no_ip(struct kunit *test)
{
	struct segment arp = { .ack = 1 };
	struct sk_buff_head queue;
	struct sk_buff *skb;
	int octets;

	__skb_queue_head_init(&queue);
	for (octets = 0; octets < 40; octets++) {
		skb = make(test, &arp);
		skb_trim(skb, 14 + octets);
		KUNIT_EXPECT_NULL(test, enqueue(&queue, skb, true));
	}
	skb = make(test, &arp);
	skb_network_header(skb)[0] = 0;
	KUNIT_EXPECT_NULL(test, enqueue(&queue, skb, true));
	skb = make(test, &(struct segment){ .ack = 2 });
	KUNIT_EXPECT_NULL(test, enqueue(&queue, skb, true));
	/* a TCP header that extends beyond the packet */
	skb = make(test, &(struct segment){ .ack = 3 });
	skb_network_header(skb)[32] = 0xf0;
	KUNIT_EXPECT_NULL(test, enqueue(&queue, skb, true));
}

static struct kunit_case tcp_ack_filter_cases[] = {
	KUNIT_CASE(two_or_one_are_left),
	KUNIT_CASE(only_a_greater_number_replaces),
	KUNIT_CASE(only_a_window_update_stays),
	KUNIT_CASE(data_stay_and_acknowledge),
	KUNIT_CASE(what_has_other_flags_stays),
	KUNIT_CASE(changes_of_ecn_flags_stay),
	KUNIT_CASE(newer_timestamps_stay),
	KUNIT_CASE(other_sack_blocks_stay),
	KUNIT_CASE(unknown_options_stay),
	KUNIT_CASE(other_connections_stay),
	KUNIT_CASE(ipv6_is_as_ipv4),
	KUNIT_CASE(headers_need_not_be_linear),
	KUNIT_CASE(packets_can_be_short_or_no_ip),
	{}
};

static struct kunit_suite tcp_ack_filter_suite = {
	.name = "tcp_ack_filter",
	.test_cases = tcp_ack_filter_cases,
};

kunit_test_suite(tcp_ack_filter_suite);

MODULE_DESCRIPTION("KUnit tests of the TCP ACK filter");
MODULE_LICENSE("GPL");
