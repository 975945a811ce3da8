// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of the TCP ACK filter in transmit queues */

#include <kunit/skbuff.h>
#include <kunit/test.h>
#include <linux/ip.h>
#include <linux/tcp.h>
#include "../ieee80211_i.h"

MODULE_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);

#define QOS_HDR_LEN	26
#define WALK		64

struct queue {
	struct ieee80211_local *local;
	struct sk_buff_head skbs;
};

static struct sk_buff *make(struct kunit *test, u32 ack, u16 payload)
{
	struct sk_buff *skb = kunit_zalloc_skb(test, 1024, GFP_KERNEL);
	struct tcphdr *th;
	struct iphdr *ip;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_put_zero(skb, QOS_HDR_LEN);
	skb_set_network_header(skb, QOS_HDR_LEN);
	ip = skb_put_zero(skb, sizeof(*ip));
	ip->version = 4;
	ip->ihl = sizeof(*ip) / 4;
	ip->protocol = IPPROTO_TCP;
	ip->tot_len = htons(sizeof(*ip) + sizeof(*th) + payload);
	th = skb_put_zero(skb, sizeof(*th));
	th->doff = sizeof(*th) / 4;
	th->ack = 1;
	th->ack_seq = htonl(ack);
	skb_put_zero(skb, payload);
	skb->protocol = htons(ETH_P_IP);
	return skb;
}

static void init(struct kunit *test, struct queue *queue,
		 enum ieee80211_ack_filter_mode mode)
{
	queue->local = kunit_kzalloc(test, sizeof(*queue->local), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, queue->local);
	queue->local->ack_filter = mode;
	__skb_queue_head_init(&queue->skbs);
}

/* Queues a packet, and returns the one that the filter drops. */
static struct sk_buff *enqueue(struct queue *queue, struct sk_buff *skb)
{
	struct sk_buff *ack;

	ack = ieee80211_ack_filter(queue->local, &queue->skbs, skb);
	if (ack)
		__skb_unlink(ack, &queue->skbs);
	__skb_queue_tail(&queue->skbs, skb);
	return ack;
}

static void newest_stay(struct kunit *test, enum ieee80211_ack_filter_mode mode,
			int left)
{
	struct sk_buff *skb = NULL;
	struct queue queue;
	int i;

	init(test, &queue, mode);
	for (i = 1; i <= 200; i++) {
		skb = make(test, i, 0);
		enqueue(&queue, skb);
		KUNIT_EXPECT_EQ(test, skb_queue_len(&queue.skbs),
				min(i, left));
	}
	KUNIT_EXPECT_PTR_EQ(test, skb_peek_tail(&queue.skbs), skb);
	KUNIT_EXPECT_EQ(test, queue.local->ack_filter_limited, 0);
}

static void the_newest_acks_stay(struct kunit *test)
{
	newest_stay(test, IEEE80211_ACK_FILTER_ON, 2);
	newest_stay(test, IEEE80211_ACK_FILTER_AGGRESSIVE, 1);
}

static void data_drop_acks_and_stay(struct kunit *test)
{
	struct sk_buff *ack = make(test, 2, 0);
	struct queue queue;

	init(test, &queue, IEEE80211_ACK_FILTER_AGGRESSIVE);
	KUNIT_EXPECT_NULL(test, enqueue(&queue, make(test, 1, 800)));
	KUNIT_EXPECT_NULL(test, enqueue(&queue, ack));
	KUNIT_EXPECT_PTR_EQ(test, enqueue(&queue, make(test, 3, 800)), ack);
	KUNIT_EXPECT_NULL(test, enqueue(&queue, make(test, 4, 0)));
	KUNIT_EXPECT_EQ(test, skb_queue_len(&queue.skbs), 3);
}

static void other_protocols_stay(struct kunit *test)
{
	struct sk_buff *other = make(test, 1, 0);
	struct queue queue;

	init(test, &queue, IEEE80211_ACK_FILTER_AGGRESSIVE);
	other->protocol = htons(ETH_P_PAE);
	KUNIT_EXPECT_NULL(test, enqueue(&queue, other));
	KUNIT_EXPECT_NULL(test, enqueue(&queue, make(test, 2, 0)));
	other = make(test, 3, 0);
	other->protocol = htons(ETH_P_PAE);
	KUNIT_EXPECT_NULL(test, enqueue(&queue, other));
	/* no network header at all */
	other = make(test, 4, 0);
	other->protocol = 0;
	other->network_header = 0;
	KUNIT_EXPECT_NULL(test, enqueue(&queue, other));
}

static void amsdus_stay(struct kunit *test)
{
	struct sk_buff *amsdu = make(test, 1, 0);
	struct sk_buff *acks[3];
	struct queue queue;
	int i;

	IEEE80211_SKB_CB(amsdu)->control.flags |= IEEE80211_TX_CTRL_AMSDU;
	init(test, &queue, IEEE80211_ACK_FILTER_AGGRESSIVE);
	KUNIT_EXPECT_NULL(test, enqueue(&queue, amsdu));
	for (i = 0; i < ARRAY_SIZE(acks); i++)
		acks[i] = make(test, 2 + i, 0);
	KUNIT_EXPECT_NULL(test, enqueue(&queue, acks[0]));
	KUNIT_EXPECT_PTR_EQ(test, enqueue(&queue, acks[1]), acks[0]);

	/* ACKs before an A-MSDU are not compared with those after it. */
	IEEE80211_SKB_CB(acks[1])->control.flags |= IEEE80211_TX_CTRL_AMSDU;
	init(test, &queue, IEEE80211_ACK_FILTER_ON);
	KUNIT_EXPECT_NULL(test, enqueue(&queue, make(test, 1, 0)));
	__skb_queue_tail(&queue.skbs, acks[1]);
	KUNIT_EXPECT_NULL(test, enqueue(&queue, acks[2]));
	KUNIT_EXPECT_NULL(test, enqueue(&queue, make(test, 5, 0)));
}

static void the_walk_is_limited(struct kunit *test)
{
	struct queue queue;
	int i;

	init(test, &queue, IEEE80211_ACK_FILTER_AGGRESSIVE);
	for (i = 0; i < WALK - 1; i++)
		KUNIT_EXPECT_NULL(test, enqueue(&queue, make(test, i, 800)));
	KUNIT_EXPECT_NULL(test, enqueue(&queue, make(test, WALK, 0)));
	KUNIT_EXPECT_NOT_NULL(test, enqueue(&queue, make(test, WALK + 1, 0)));
	KUNIT_EXPECT_EQ(test, queue.local->ack_filter_limited, 0);
	KUNIT_EXPECT_NOT_NULL(test,
			      enqueue(&queue, make(test, WALK + 2, 800)));
	KUNIT_EXPECT_NULL(test, enqueue(&queue, make(test, WALK + 3, 0)));
	KUNIT_EXPECT_EQ(test, queue.local->ack_filter_limited, 0);
	KUNIT_EXPECT_NULL(test, enqueue(&queue, make(test, WALK + 4, 0)));
	KUNIT_EXPECT_EQ(test, queue.local->ack_filter_limited, 1);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(the_newest_acks_stay),
	KUNIT_CASE(data_drop_acks_and_stay),
	KUNIT_CASE(other_protocols_stay),
	KUNIT_CASE(amsdus_stay),
	KUNIT_CASE(the_walk_is_limited),
	{}
};

static struct kunit_suite suite = {
	.name = "mac80211-ack-filter",
	.test_cases = cases,
};

kunit_test_suite(suite);
