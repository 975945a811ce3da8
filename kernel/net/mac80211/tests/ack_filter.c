// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of which TCP acknowledgments a newer one makes superfluous. */
#include <kunit/skbuff.h>
#include <kunit/test.h>
#include <linux/unaligned.h>
#include <net/tcp_ack_filter.h>

#define FLAG(_name)	(TCPHDR_##_name)

/* What a test asks for; the rest is a bare acknowledgment of an IPv4 flow. */
struct segment {
	u8 flags;
	u8 payload;
	u8 options[40];
	u8 option_octets;
	u16 source;
	u32 ack;
	u16 window;
	bool ipv6;
	bool fragment;
	bool ip_options;
	u8 reserved;
};

static const u8 timestamps[] = { TCPOPT_NOP, TCPOPT_NOP, TCPOPT_TIMESTAMP,
				 TCPOLEN_TIMESTAMP, 1, 2, 3, 4, 5, 6, 7, 8 };
static const u8 sack[] = { TCPOPT_NOP, TCPOPT_NOP, TCPOPT_SACK, 10,
			   0, 0, 0, 1, 0, 0, 0, 2 };

static void put_ip(struct sk_buff *skb, const struct segment *segment,
		   u16 octets)
{
	struct ipv6hdr *ip6;
	struct iphdr *ip;

	skb_reset_network_header(skb);
	if (segment->ipv6) {
		ip6 = skb_put_zero(skb, sizeof(*ip6));
		ip6->version = 6;
		ip6->nexthdr = IPPROTO_TCP;
		ip6->payload_len = htons(octets);
		ip6->saddr.s6_addr[15] = 1;
		ip6->daddr.s6_addr[15] = 2;
		skb->protocol = htons(ETH_P_IPV6);
		return;
	}
	ip = skb_put_zero(skb, sizeof(*ip) + 4 * segment->ip_options);
	ip->version = 4;
	ip->ihl = 5 + segment->ip_options;
	ip->protocol = IPPROTO_TCP;
	ip->tot_len = htons(ip->ihl * 4 + octets);
	ip->frag_off = segment->fragment ? htons(IP_MF) : htons(IP_DF);
	ip->saddr = htonl(0x0a000001);
	ip->daddr = htonl(0x0a000002);
	skb->protocol = htons(ETH_P_IP);
}

static bool read(struct kunit *test, const struct segment *segment,
		 struct tcp_bare_ack *bare)
{
	u8 options = round_up(segment->option_octets, 4);
	u16 octets = sizeof(struct tcphdr) + options + segment->payload;
	struct tcphdr *th;
	struct sk_buff *skb;

	skb = kunit_zalloc_skb(test, 200, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	/* As in a queue of mac80211: something before the network header. */
	skb_put_zero(skb, 32);
	put_ip(skb, segment, octets);
	skb_set_network_header(skb, 32);
	th = skb_put_zero(skb, sizeof(*th));
	th->source = htons(segment->source ?: 1000);
	th->dest = htons(2000);
	th->ack_seq = htonl(segment->ack);
	th->window = htons(segment->window);
	th->doff = (sizeof(*th) + options) / 4;
	((u8 *)th)[12] |= segment->reserved;
	((u8 *)th)[13] = segment->flags ?: FLAG(ACK);
	memcpy(skb_put_zero(skb, options), segment->options,
	       segment->option_octets);
	skb_put_zero(skb, segment->payload);
	return tcp_bare_ack_read(skb, bare);
}

static bool bare(struct kunit *test, const struct segment *segment)
{
	struct tcp_bare_ack unused;

	return read(test, segment, &unused);
}

static void bare_acks(struct kunit *test)
{
	struct segment segment = { .ack = 1 };
	struct tcp_bare_ack ack;

	KUNIT_EXPECT_TRUE(test, bare(test, &segment));
	segment.option_octets = sizeof(timestamps);
	memcpy(segment.options, timestamps, sizeof(timestamps));
	segment.ack = 0x12345678;
	segment.window = 4321;
	KUNIT_EXPECT_TRUE(test, read(test, &segment, &ack));
	KUNIT_EXPECT_EQ(test, ack.ack, 0x12345678);
	KUNIT_EXPECT_EQ(test, ack.window, 4321);
	KUNIT_EXPECT_EQ(test, ntohs(ack.source), 1000);
	segment.ipv6 = true;
	KUNIT_EXPECT_TRUE(test, read(test, &segment, &ack));
	KUNIT_EXPECT_EQ(test, ack.daddr.s6_addr[15], 2);
}

static void all_else_is_kept(struct kunit *test)
{
	static const u8 flags[] = {
		FLAG(ACK) | FLAG(PSH), FLAG(ACK) | FLAG(FIN),
		FLAG(ACK) | FLAG(SYN), FLAG(ACK) | FLAG(RST),
		FLAG(ACK) | FLAG(ECE), FLAG(ACK) | FLAG(CWR),
		FLAG(ACK) | FLAG(URG), FLAG(RST),
	};
	struct segment segment = {};
	int i;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		segment.flags = flags[i];
		KUNIT_EXPECT_FALSE(test, bare(test, &segment));
	}
	segment.flags = 0;
	segment.payload = 1;
	KUNIT_EXPECT_FALSE(test, bare(test, &segment));
	segment.payload = 0;
	segment.reserved = 1; /* AccECN's third bit */
	KUNIT_EXPECT_FALSE(test, bare(test, &segment));
	segment.reserved = 0;
	segment.fragment = true;
	KUNIT_EXPECT_FALSE(test, bare(test, &segment));
	segment.fragment = false;
	segment.ip_options = true;
	KUNIT_EXPECT_FALSE(test, bare(test, &segment));
	segment.ip_options = false;
	segment.option_octets = sizeof(sack);
	memcpy(segment.options, sack, sizeof(sack));
	KUNIT_EXPECT_FALSE(test, bare(test, &segment));
	/* An option that ends beyond the header. */
	segment.option_octets = 4;
	segment.options[0] = TCPOPT_TIMESTAMP;
	segment.options[1] = TCPOLEN_TIMESTAMP;
	KUNIT_EXPECT_FALSE(test, bare(test, &segment));
}

static void only_what_says_less(struct kunit *test)
{
	struct segment older = { .ack = 100, .window = 7 };
	struct segment newer = { .ack = 101, .window = 7 };
	struct tcp_bare_ack old, new;

	KUNIT_ASSERT_TRUE(test, read(test, &older, &old));
	KUNIT_ASSERT_TRUE(test, read(test, &newer, &new));
	KUNIT_EXPECT_TRUE(test, tcp_bare_ack_supersedes(&new, &old, true));
	KUNIT_EXPECT_FALSE(test, tcp_bare_ack_supersedes(&old, &new, true));
	/* A duplicate, by which loss is found, or a window update. */
	KUNIT_EXPECT_FALSE(test, tcp_bare_ack_supersedes(&old, &old, true));
	new.window = 8;
	KUNIT_EXPECT_FALSE(test, tcp_bare_ack_supersedes(&new, &old, true));
	KUNIT_EXPECT_TRUE(test, tcp_bare_ack_supersedes(&new, &old, false));
	new.ack = old.ack;
	KUNIT_EXPECT_FALSE(test, tcp_bare_ack_supersedes(&new, &old, false));
	new.window = old.window;
	/* Numbers wrap. */
	old.ack = U32_MAX;
	new.ack = 5;
	KUNIT_EXPECT_TRUE(test, tcp_bare_ack_supersedes(&new, &old, true));
}

static void only_of_the_same_connection(struct kunit *test)
{
	struct segment older = { .ack = 100 };
	struct segment newer = { .ack = 101, .source = 1001 };
	struct tcp_bare_ack old, new;

	KUNIT_ASSERT_TRUE(test, read(test, &older, &old));
	KUNIT_ASSERT_TRUE(test, read(test, &newer, &new));
	KUNIT_EXPECT_FALSE(test, tcp_bare_ack_supersedes(&new, &old, false));
	new.source = old.source;
	KUNIT_EXPECT_TRUE(test, tcp_bare_ack_supersedes(&new, &old, false));
	new.daddr.s6_addr[15]++;
	KUNIT_EXPECT_FALSE(test, tcp_bare_ack_supersedes(&new, &old, false));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(bare_acks),
	KUNIT_CASE(all_else_is_kept),
	KUNIT_CASE(only_what_says_less),
	KUNIT_CASE(only_of_the_same_connection),
	{}
};

static struct kunit_suite suite = {
	.name = "mac80211-ack-filter",
	.test_cases = cases,
};

kunit_test_suite(suite);
