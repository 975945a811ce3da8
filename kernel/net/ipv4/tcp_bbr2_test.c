// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of BBRv2's arithmetic: values calculated by hand, and values near
 * the limits of their range.
 */

#include <kunit/test.h>

#include "tcp_bbr2.h"

/* 50 Mbit/s are 4317 packets of 1448 bytes per second, 86 in 20 ms */
#define RTT_US	20000
#define PACKETS	86

static void test_delivery_rate(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, bbr2_delivery_rate(1, 1), BBR2_BW_UNIT);
	KUNIT_EXPECT_EQ(test, bbr2_delivery_rate(PACKETS, RTT_US), 72142);
	/* Rates are clamped to the minimum and the maximum */
	KUNIT_EXPECT_EQ(test, bbr2_delivery_rate(1, ULONG_MAX), 1);
	KUNIT_EXPECT_EQ(test, bbr2_delivery_rate(0, 1), 1);
	KUNIT_EXPECT_EQ(test, bbr2_delivery_rate(S32_MAX, 1), U32_MAX);
}

static void test_pacing_rate(struct kunit *test)
{
	u32 bw = bbr2_delivery_rate(PACKETS, RTT_US);
	/* 86 packets of 1448 bytes in 20 ms, less 1% */
	u64 rate = 6164136;

	KUNIT_EXPECT_LE(test, bbr2_pacing_rate(bw, 1448, BBR2_UNIT, 100), rate);
	KUNIT_EXPECT_GE(test, bbr2_pacing_rate(bw, 1448, BBR2_UNIT, 100),
			rate - 100);
	KUNIT_EXPECT_EQ(test, bbr2_pacing_rate(bw, 1448, BBR2_UNIT, 200),
			2 * bbr2_pacing_rate(bw, 1448, BBR2_UNIT, 100));
	KUNIT_EXPECT_EQ(test, bbr2_pacing_rate(bw, 1448, BBR2_UNIT / 2, 100),
			bbr2_pacing_rate(bw, 724, BBR2_UNIT, 100));
	KUNIT_EXPECT_EQ(test, bbr2_pacing_rate(BBR2_BW_UNIT, 1, BBR2_UNIT, 100),
			990000);
	KUNIT_EXPECT_EQ(test, bbr2_pacing_rate(0, 1448, BBR2_UNIT, 1000), 0);
	/* 256 packets of 64 KB per microsecond, tenfold: no overflow */
	KUNIT_EXPECT_EQ(test, bbr2_pacing_rate(U32_MAX, U16_MAX, 1023, 1000),
			663718819345460ULL);
}

static void test_bdp_multiple(struct kunit *test)
{
	u32 bw = bbr2_delivery_rate(PACKETS, RTT_US);

	KUNIT_EXPECT_EQ(test, bbr2_bdp_multiple(bw, RTT_US, BBR2_UNIT), PACKETS);
	KUNIT_EXPECT_EQ(test, bbr2_bdp_multiple(bw, RTT_US, 2 * BBR2_UNIT),
			2 * PACKETS);
	KUNIT_EXPECT_EQ(test, bbr2_bdp_multiple(bw, RTT_US, BBR2_UNIT / 2),
			PACKETS / 2);
	/* Rounded up */
	KUNIT_EXPECT_EQ(test, bbr2_bdp_multiple(1, 1, BBR2_UNIT), 1);
	KUNIT_EXPECT_EQ(test, bbr2_bdp_multiple(0, RTT_US, BBR2_UNIT), 0);
	/* Never unbounded */
	KUNIT_EXPECT_EQ(test, bbr2_bdp_multiple(U32_MAX, U32_MAX, BBR2_UNIT),
			BBR2_INFINITY - 1);
}

static void test_quantization_budget(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, bbr2_quantization_budget(86, 2, false), 86);
	KUNIT_EXPECT_EQ(test, bbr2_quantization_budget(86, 2, true), 88);
	KUNIT_EXPECT_EQ(test, bbr2_quantization_budget(86, 44, false), 132);
	KUNIT_EXPECT_EQ(test, bbr2_quantization_budget(0, 1, false), 4);
}

static void test_headroom(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, bbr2_inflight_with_headroom(100), 85);
	/* Headroom of at least one, unless too few would be in flight */
	KUNIT_EXPECT_EQ(test, bbr2_inflight_with_headroom(6), 5);
	KUNIT_EXPECT_EQ(test, bbr2_inflight_with_headroom(4), 4);
	KUNIT_EXPECT_EQ(test, bbr2_inflight_with_headroom(0), 4);
	KUNIT_EXPECT_EQ(test, bbr2_inflight_with_headroom(BBR2_INFINITY),
			BBR2_INFINITY);
	KUNIT_EXPECT_EQ(test, bbr2_inflight_with_headroom(BBR2_INFINITY - 1),
			3650722199U);
}

static void test_reno_coexistence(struct kunit *test)
{
	/* Rounds that Reno needs for a BDP of 40 packets */
	KUNIT_EXPECT_FALSE(test, bbr2_is_reno_coexistence_probe_time(39, 40));
	KUNIT_EXPECT_TRUE(test, bbr2_is_reno_coexistence_probe_time(40, 40));
	/* At most 63 */
	KUNIT_EXPECT_FALSE(test,
			   bbr2_is_reno_coexistence_probe_time(62, U32_MAX));
	KUNIT_EXPECT_TRUE(test,
			  bbr2_is_reno_coexistence_probe_time(63, U32_MAX));
}

static void test_probe_up_doubles_each_round(struct kunit *test)
{
	u32 cwnd = 100, round, grown;

	for (round = 0; round < 5; round++) {
		grown = cwnd / bbr2_probe_up_cnt(cwnd, round);
		KUNIT_EXPECT_GE(test, grown, 1U << round);
		KUNIT_EXPECT_LE(test, grown, (1U << round) * 5 / 4);
	}
	/* But at most the acknowledged packets */
	KUNIT_EXPECT_EQ(test, bbr2_probe_up_cnt(cwnd, 30), 1);
	KUNIT_EXPECT_EQ(test, bbr2_probe_up_cnt(0, 0), 1);
}

static void test_loss_above_2_percent_is_too_much(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, bbr2_is_inflight_too_high(0, 0));
	KUNIT_EXPECT_TRUE(test, bbr2_is_inflight_too_high(1, 0));
	KUNIT_EXPECT_FALSE(test, bbr2_is_inflight_too_high(2, 100));
	KUNIT_EXPECT_TRUE(test, bbr2_is_inflight_too_high(3, 100));
	KUNIT_EXPECT_TRUE(test, bbr2_is_inflight_too_high(1, 49));
	KUNIT_EXPECT_FALSE(test, bbr2_is_inflight_too_high(U32_MAX / 50,
							   U32_MAX));
	KUNIT_EXPECT_TRUE(test, bbr2_is_inflight_too_high(U32_MAX, U32_MAX));
}

static void test_inflight_where_loss_began(struct kunit *test)
{
	/* 1 + 1 of 100 would be 2%: the third is too much */
	KUNIT_EXPECT_EQ(test, bbr2_inflight_hi_from_lost(100, 3, 1), 99);
	/* 10 of 200 at once: 190 allow 3.8, so 3 of the 10 are tolerated */
	KUNIT_EXPECT_EQ(test, bbr2_inflight_hi_from_lost(200, 10, 10), 193);
	/* 1 before: 2.8 are tolerated */
	KUNIT_EXPECT_EQ(test, bbr2_inflight_hi_from_lost(200, 11, 10), 192);
	/* More lost than in flight */
	KUNIT_EXPECT_EQ(test, bbr2_inflight_hi_from_lost(5, 10, 10), 0);
	KUNIT_EXPECT_EQ(test, bbr2_inflight_hi_from_lost(5, 0, 10), 0);
	KUNIT_EXPECT_EQ(test, bbr2_inflight_hi_from_lost(U32_MAX, 0, 0),
			U32_MAX);
}

static void test_bounds_after_loss(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, bbr2_loss_lower_bound(100, 0), 70);
	KUNIT_EXPECT_EQ(test, bbr2_loss_lower_bound(100, 90), 90);
	/* Never to zero, no overflow */
	KUNIT_EXPECT_EQ(test, bbr2_loss_lower_bound(1, 0), 1);
	KUNIT_EXPECT_EQ(test, bbr2_loss_lower_bound(BBR2_INFINITY - 1, 0),
			3006477105U);
}

static struct kunit_case tcp_bbr2_cases[] = {
	KUNIT_CASE(test_delivery_rate),
	KUNIT_CASE(test_pacing_rate),
	KUNIT_CASE(test_bdp_multiple),
	KUNIT_CASE(test_quantization_budget),
	KUNIT_CASE(test_headroom),
	KUNIT_CASE(test_reno_coexistence),
	KUNIT_CASE(test_probe_up_doubles_each_round),
	KUNIT_CASE(test_loss_above_2_percent_is_too_much),
	KUNIT_CASE(test_inflight_where_loss_began),
	KUNIT_CASE(test_bounds_after_loss),
	{}
};

static struct kunit_suite tcp_bbr2_suite = {
	.name = "tcp_bbr2",
	.test_cases = tcp_bbr2_cases,
};

kunit_test_suite(tcp_bbr2_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of BBRv2's arithmetic");
