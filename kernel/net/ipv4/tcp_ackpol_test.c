// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of the ACK policies' framework: each queued timer has a reference,
 * and segments are counted.
 */

#include <kunit/test.h>
#include <linux/completion.h>

#include "tcp_ackpol_core.h"

struct tcp_ackpol_timer_run {
	struct hrtimer timer;
	struct sock *sk;
	struct completion fired;
	bool again;
	bool earlier;
	bool later;
};

static ktime_t in_ms(int ms)
{
	return ktime_add_ms(ktime_get(), ms);
}

static bool start(struct tcp_ackpol_timer_run *run, int ms)
{
	return tcp_ackpol_timer_start(run->sk, &run->timer, in_ms(ms));
}

/* Like a handler on another CPU that waits for the lock: while it runs, the
 * owner of the socket starts the timer several times.
 */
static enum hrtimer_restart handler(struct hrtimer *timer)
{
	struct tcp_ackpol_timer_run *run =
		container_of(timer, struct tcp_ackpol_timer_run, timer);

	run->again = start(run, 60 * MSEC_PER_SEC);
	run->earlier = start(run, 30 * MSEC_PER_SEC);
	run->later = start(run, 90 * MSEC_PER_SEC);
	__sock_put(run->sk);
	complete(&run->fired);

	return HRTIMER_NORESTART;
}

static struct tcp_ackpol_timer_run *prepare(struct kunit *test)
{
	struct tcp_ackpol_timer_run *run;

	run = kunit_kzalloc(test, sizeof(*run), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, run);
	run->sk = kunit_kzalloc(test, sizeof(*run->sk), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, run->sk);
	refcount_set(&run->sk->sk_refcnt, 1);
	init_completion(&run->fired);
	hrtimer_init(&run->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_SOFT);
	run->timer.function = handler;

	return run;
}

static int references(const struct tcp_ackpol_timer_run *run)
{
	return refcount_read(&run->sk->sk_refcnt);
}

static void test_a_queued_timer_has_one_reference(struct kunit *test)
{
	struct tcp_ackpol_timer_run *run = prepare(test);
	ktime_t expires;

	KUNIT_EXPECT_TRUE(test, start(run, 60 * MSEC_PER_SEC));
	KUNIT_EXPECT_EQ(test, references(run), 2);
	expires = hrtimer_get_expires(&run->timer);

	KUNIT_EXPECT_TRUE(test, start(run, 90 * MSEC_PER_SEC));
	KUNIT_EXPECT_EQ(test, references(run), 2);
	KUNIT_EXPECT_EQ(test, hrtimer_get_expires(&run->timer), expires);

	KUNIT_EXPECT_TRUE(test, start(run, 30 * MSEC_PER_SEC));
	KUNIT_EXPECT_EQ(test, references(run), 2);
	KUNIT_EXPECT_LT(test, hrtimer_get_expires(&run->timer), expires);
	KUNIT_EXPECT_EQ(test, hrtimer_cancel(&run->timer), 1);
}

static void test_a_timer_queued_during_its_handler_is_not_moved(struct kunit *test)
{
	struct tcp_ackpol_timer_run *run = prepare(test);

	KUNIT_EXPECT_TRUE(test, start(run, 1));
	KUNIT_EXPECT_NE(test, 0,
			wait_for_completion_timeout(&run->fired, 10 * HZ));
	KUNIT_EXPECT_TRUE(test, run->again);
	KUNIT_EXPECT_FALSE(test, run->earlier);
	KUNIT_EXPECT_TRUE(test, run->later);
	KUNIT_EXPECT_EQ(test, hrtimer_cancel(&run->timer), 1);
	KUNIT_EXPECT_EQ(test, references(run), 2);
}

static u32 segs_of(struct kunit *test, unsigned int len, u16 gso_size, u16 gso_segs)
{
	struct sk_buff *skb = alloc_skb(len, GFP_KERNEL);
	u32 segs;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_put(skb, len);
	skb_shinfo(skb)->gso_size = gso_size;
	skb_shinfo(skb)->gso_segs = gso_segs;
	segs = tcp_ackpol_skb_segs(skb);
	kfree_skb(skb);
	return segs;
}

static void test_segments_of_a_packet_are_counted(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, segs_of(test, 1448, 0, 0), 1);
	KUNIT_EXPECT_EQ(test, segs_of(test, 4344, 1448, 3), 3);
	KUNIT_EXPECT_EQ(test, segs_of(test, 4345, 1448, 4), 4);
}

static void test_segments_without_their_number_are_counted(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, segs_of(test, 1448, 1448, 0), 1);
	KUNIT_EXPECT_EQ(test, segs_of(test, 1449, 1448, 0), 2);
	KUNIT_EXPECT_EQ(test, segs_of(test, 4344, 1448, 0), 3);
	KUNIT_EXPECT_EQ(test, segs_of(test, 0, 1448, 0), 1);
	/* Two packets of four segments, merged in the backlog */
	KUNIT_EXPECT_EQ(test, segs_of(test, 8000, 1000, 2), 8);
}

static struct kunit_case tcp_ackpol_cases[] = {
	KUNIT_CASE(test_a_queued_timer_has_one_reference),
	KUNIT_CASE(test_a_timer_queued_during_its_handler_is_not_moved),
	KUNIT_CASE(test_segments_of_a_packet_are_counted),
	KUNIT_CASE(test_segments_without_their_number_are_counted),
	{}
};

static struct kunit_suite tcp_ackpol_suite = {
	.name = "tcp_ackpol",
	.test_cases = tcp_ackpol_cases,
};

kunit_test_suite(tcp_ackpol_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of the framework of TCP acknowledgment policies");
