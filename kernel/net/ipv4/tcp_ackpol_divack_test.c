// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of ACK division: data in, acknowledgment numbers out; and of the
 * sender's limit: ACKs in, congestion window out.
 */

#include <kunit/test.h>
#include <net/tcp.h>

#include "tcp_ackpol_divack.h"

static const struct tcp_divack_params defaults = TCP_DIVACK_PARAMS_DEFAULT;

static struct tcp_divack start(int parts, int spread_us, u32 acked, u32 end)
{
	struct tcp_divack_params params = {
		.parts = parts,
		.spread_us = spread_us,
	};
	struct tcp_divack divack;

	tcp_divack_start(&divack, &params, acked, end);
	return divack;
}

static void test_loop_of_table_1(struct kunit *test)
{
	struct tcp_divack divack;

	tcp_divack_start(&divack, &defaults, 1, 1449);
	KUNIT_EXPECT_EQ(test, divack.left, 4);
	KUNIT_EXPECT_EQ(test, divack.step_us, 0);
	/* figure 4: the first divack of a segment of 1448 bytes is 1446 */
	KUNIT_EXPECT_EQ(test, tcp_divack_next(&divack), 1446);
	KUNIT_EXPECT_EQ(test, tcp_divack_next(&divack), 1447);
	KUNIT_EXPECT_EQ(test, tcp_divack_next(&divack), 1448);
	KUNIT_EXPECT_EQ(test, divack.left, 1);
	KUNIT_EXPECT_EQ(test, tcp_divack_next(&divack), 1449);
	KUNIT_EXPECT_EQ(test, divack.left, 0);
}

static void test_none_is_the_full_ack_alone(struct kunit *test)
{
	struct tcp_divack divack = start(0, 9000, 1, 1449);

	KUNIT_EXPECT_EQ(test, divack.left, 1);
	KUNIT_EXPECT_EQ(test, divack.step_us, 0);
	KUNIT_EXPECT_EQ(test, tcp_divack_next(&divack), 1449);
}

static void test_most(struct kunit *test)
{
	struct tcp_divack divack = start(TCP_DIVACK_PARTS_MAX, 0, 1, 1449);

	KUNIT_EXPECT_EQ(test, divack.left, 65);
	KUNIT_EXPECT_EQ(test, tcp_divack_next(&divack), 1385);
}

static void test_each_part_acknowledges_something_new(struct kunit *test)
{
	static const u32 bytes_left[][2] = {
		{ 1, 1 }, { 2, 2 }, { 3, 3 }, { 4, 4 }, { 5, 4 }, { 1448, 4 },
	};
	u32 acked = 1000, ack, prev;
	struct tcp_divack divack;
	int i;

	for (i = 0; i < ARRAY_SIZE(bytes_left); i++) {
		divack = start(3, 0, acked, acked + bytes_left[i][0]);
		KUNIT_EXPECT_EQ(test, divack.left, bytes_left[i][1]);
		for (prev = acked; divack.left; prev = ack) {
			ack = tcp_divack_next(&divack);
			KUNIT_EXPECT_GT(test, ack, prev);
		}
		KUNIT_EXPECT_EQ(test, prev, acked + bytes_left[i][0]);
	}
}

static void test_nothing_new_has_no_parts(struct kunit *test)
{
	struct tcp_divack divack = start(3, 9000, 1449, 1449);

	KUNIT_EXPECT_EQ(test, divack.left, 0);
	KUNIT_EXPECT_EQ(test, divack.step_us, 0);
}

static void test_sequence_numbers_wrap(struct kunit *test)
{
	struct tcp_divack divack = start(3, 0, (u32)-10, 1);

	KUNIT_EXPECT_EQ(test, tcp_divack_next(&divack), (u32)-2);
	KUNIT_EXPECT_EQ(test, tcp_divack_next(&divack), (u32)-1);
	KUNIT_EXPECT_EQ(test, tcp_divack_next(&divack), 0);
	KUNIT_EXPECT_EQ(test, tcp_divack_next(&divack), 1);

	divack = start(3, 0, (u32)-1, 1);
	KUNIT_EXPECT_EQ(test, tcp_divack_next(&divack), 0);
	KUNIT_EXPECT_EQ(test, tcp_divack_next(&divack), 1);
	KUNIT_EXPECT_EQ(test, divack.left, 0);
}

static void test_steps_of_a_paced_series(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, start(3, 9000, 1, 1449).step_us, 3000);
	KUNIT_EXPECT_EQ(test, start(3, 10000, 1, 1449).step_us, 3333);
	/* as many steps as there are parts */
	KUNIT_EXPECT_EQ(test, start(3, 9000, 1, 3).step_us, 9000);
	KUNIT_EXPECT_EQ(test, start(64, 10, 1, 1449).step_us, 1);
	KUNIT_EXPECT_EQ(test, start(1, 500000, 1, 1449).step_us, 500000);
	KUNIT_EXPECT_EQ(test, start(3, 9000, 1, 2).step_us, 0);
}

/* A sender in slow start */
static struct tcp_sock *sender(struct kunit *test, u32 cwnd)
{
	struct tcp_sock *tp = kunit_kzalloc(test, sizeof(*tp), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, tp);
	tp->snd_cwnd = cwnd;
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	tp->snd_cwnd_clamp = ~0;
	return tp;
}

static void divacks(struct tcp_sock *tp, u8 most, int count)
{
	while (count--)
		tcp_divack_grow(tp, most);
}

static void test_sender_off(struct kunit *test)
{
	struct tcp_sock *tp = sender(test, 10);

	divacks(tp, 0, 1447);
	KUNIT_EXPECT_EQ(test, tp->snd_cwnd, 10);
}

static void test_sender_grows_once_a_divack(struct kunit *test)
{
	struct tcp_sock *tp = sender(test, 10);

	divacks(tp, 15, 3);
	KUNIT_EXPECT_EQ(test, tp->snd_cwnd, 13);
}

static void test_sender_bound_of_a_segment(struct kunit *test)
{
	struct tcp_sock *tp = sender(test, 10);

	divacks(tp, 4, 1447);
	KUNIT_EXPECT_EQ(test, tp->snd_cwnd, 14);

	/* the segment was acknowledged: counting restarts for the next one */
	tp->divacks = 0;
	divacks(tp, 4, 1447);
	KUNIT_EXPECT_EQ(test, tp->snd_cwnd, 18);

	/* a lower limit includes previous ones */
	divacks(tp, 3, 1447);
	KUNIT_EXPECT_EQ(test, tp->snd_cwnd, 18);
}

static void test_sender_bound_does_not_wrap(struct kunit *test)
{
	struct tcp_sock *tp = sender(test, 10);

	divacks(tp, U8_MAX, 1447);
	KUNIT_EXPECT_EQ(test, tp->snd_cwnd, 10 + U8_MAX);
}

static void test_sender_stays_in_slow_start(struct kunit *test)
{
	struct tcp_sock *tp = sender(test, 10);

	tp->snd_ssthresh = 12;
	divacks(tp, 64, 1447);
	KUNIT_EXPECT_EQ(test, tp->snd_cwnd, 12);
	KUNIT_EXPECT_EQ(test, tp->divacks, 2);

	tp = sender(test, 20);
	tp->snd_ssthresh = 12;
	divacks(tp, 64, 1447);
	KUNIT_EXPECT_EQ(test, tp->snd_cwnd, 20);
}

static void test_sender_heeds_the_clamp(struct kunit *test)
{
	struct tcp_sock *tp = sender(test, 10);

	tp->snd_cwnd_clamp = 11;
	divacks(tp, 64, 1447);
	KUNIT_EXPECT_EQ(test, tp->snd_cwnd, 11);
}

static struct kunit_case tcp_divack_cases[] = {
	KUNIT_CASE(test_loop_of_table_1),
	KUNIT_CASE(test_none_is_the_full_ack_alone),
	KUNIT_CASE(test_most),
	KUNIT_CASE(test_each_part_acknowledges_something_new),
	KUNIT_CASE(test_nothing_new_has_no_parts),
	KUNIT_CASE(test_sequence_numbers_wrap),
	KUNIT_CASE(test_steps_of_a_paced_series),
	KUNIT_CASE(test_sender_off),
	KUNIT_CASE(test_sender_grows_once_a_divack),
	KUNIT_CASE(test_sender_bound_of_a_segment),
	KUNIT_CASE(test_sender_bound_does_not_wrap),
	KUNIT_CASE(test_sender_stays_in_slow_start),
	KUNIT_CASE(test_sender_heeds_the_clamp),
	{}
};

static struct kunit_suite tcp_divack_suite = {
	.name = "tcp_ackpol_divack",
	.test_cases = tcp_divack_cases,
};

kunit_test_suite(tcp_divack_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of ACK division");
