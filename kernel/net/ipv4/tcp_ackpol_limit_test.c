// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of dynamic ACK limiting: arrival times in, ratios out.
 */

#include <kunit/test.h>

#include "tcp_ackpol_limit.h"

static const struct tcp_limit_params defaults = TCP_LIMIT_PARAMS_DEFAULT;

/* A window of 12 segments: limiting after 90, maximum 4 */
#define RWND	12
#define START	90

static void window(struct tcp_limit *limit, u64 *now_us, u32 took_us)
{
	int i;

	for (i = 0; i < RWND; i++) {
		*now_us += took_us / RWND;
		tcp_limit_arrival(limit, &defaults, *now_us, 1, RWND);
	}
}

/* Limiting begins at @now_us */
static void start(struct tcp_limit *limit, u64 now_us)
{
	memset(limit, 0, sizeof(*limit));
	tcp_limit_reset(limit);
	tcp_limit_arrival(limit, &defaults, now_us, START, RWND);
}

/* The dissertation's table 2.1 */
static void test_start_of_limiting(struct kunit *test)
{
	static const u32 acks[] = {
		2, 5, 9, 14, 20, 27, 35, 44, 54, 65, 77, 90, 104, 119
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(acks); i++)
		KUNIT_EXPECT_EQ(test, tcp_limit_start_segs(i + 1), acks[i]);

	KUNIT_EXPECT_EQ(test, tcp_limit_start_segs(0), 0);
	/* 64 KiB of 1448 bytes, as a Linux receiver first advertises */
	KUNIT_EXPECT_EQ(test, tcp_limit_start_segs(45), 1080);
	/* 1 GiB of 1448 and of 1 byte */
	KUNIT_EXPECT_EQ(test, tcp_limit_start_segs(741531), S32_MAX);
	KUNIT_EXPECT_EQ(test, tcp_limit_start_segs(1 << 30), S32_MAX);
}

static void test_limiting_begins_after_the_count(struct kunit *test)
{
	struct tcp_limit limit = {};
	int i;

	tcp_limit_reset(&limit);
	for (i = 1; i < START; i++) {
		tcp_limit_arrival(&limit, &defaults, i, 1, RWND);
		KUNIT_EXPECT_EQ(test, limit.window_segs, 0);
		KUNIT_EXPECT_EQ(test, limit.count_segs, i);
	}
	KUNIT_EXPECT_EQ(test, limit.start_segs, START);

	tcp_limit_arrival(&limit, &defaults, START, 1, RWND);
	KUNIT_EXPECT_EQ(test, limit.window_segs, RWND);
	KUNIT_EXPECT_EQ(test, limit.window_start_us, START);
	KUNIT_EXPECT_EQ(test, limit.count_segs, 0);
	KUNIT_EXPECT_EQ(test, limit.ratio, 1);
	KUNIT_EXPECT_EQ(test, limit.ratio_max, 4);
}

static void test_count_follows_the_advertised_window(struct kunit *test)
{
	struct tcp_limit limit = {};

	tcp_limit_reset(&limit);
	tcp_limit_arrival(&limit, &defaults, 1, START - 1, RWND);
	tcp_limit_arrival(&limit, &defaults, 2, 1, RWND + 1);
	KUNIT_EXPECT_EQ(test, limit.window_segs, 0);
	KUNIT_EXPECT_EQ(test, limit.start_segs, 104);

	tcp_limit_arrival(&limit, &defaults, 3, 14, RWND + 1);
	KUNIT_EXPECT_EQ(test, limit.window_segs, RWND + 1);
}

static void test_count_by_sysctl(struct kunit *test)
{
	static const struct {
		int limit;
		u32 start_segs;
	} cases[] = {
		{ 0, START }, { 1, START }, { 2, 2 }, { 2000, 2000 },
		{ S32_MAX, S32_MAX },
	};
	struct tcp_limit_params params = defaults;
	struct tcp_limit limit = {};
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		params.limit = cases[i].limit;
		tcp_limit_reset(&limit);
		tcp_limit_arrival(&limit, &params, 1, cases[i].start_segs - 1,
				  RWND);
		KUNIT_EXPECT_EQ(test, limit.start_segs, cases[i].start_segs);
		KUNIT_EXPECT_EQ(test, limit.window_segs, 0);
		/* the maximum of one arrival */
		tcp_limit_arrival(&limit, &params, 2, U16_MAX, RWND);
		KUNIT_EXPECT_EQ(test, limit.window_segs, RWND);
	}
}

/* Durations of windows, and the ratio after each */
static void test_ratio(struct kunit *test)
{
	static const struct {
		u32 took_us;
		u32 ratio;
	} windows[] = {
		{ 1200, 1 },	/* nothing to compare with */
		{ 1200, 2 },	/* no longer */
		{ 1188, 3 },
		{ 1200, 2 },	/* longer */
		{ 1212, 1 },
		{ 2400, 1 },	/* never less */
		{ 2400, 2 }, { 2400, 3 }, { 2400, 4 },
		{ 2400, 4 },	/* nor more than a third of the window */
		{ 2412, 3 },
	};
	u64 now_us = 5 * 1000000ULL;
	struct tcp_limit limit;
	int i;

	start(&limit, now_us);
	for (i = 0; i < ARRAY_SIZE(windows); i++) {
		window(&limit, &now_us, windows[i].took_us);
		KUNIT_EXPECT_EQ(test, limit.window_us, windows[i].took_us);
		KUNIT_EXPECT_EQ_MSG(test, limit.ratio, windows[i].ratio,
				    "after window %d", i);
	}
}

static void test_maximum(struct kunit *test)
{
	static const struct {
		u32 rwnd_segs;
		int limit_max;
		u32 ratio_max;
	} cases[] = {
		{ 0, 64, 1 }, { 2, 64, 1 }, { 3, 64, 1 }, { 6, 64, 2 },
		{ 191, 64, 63 }, { 192, 64, 64 }, { 2000, 64, 64 },
		{ 2000, 1, 1 }, { 2000, 65535, 666 },
	};
	struct tcp_limit_params params = defaults;
	struct tcp_limit limit = {};
	int i, window;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		params.limit_max = cases[i].limit_max;
		params.limit = 2;
		tcp_limit_reset(&limit);
		tcp_limit_arrival(&limit, &params, 1, 2, cases[i].rwnd_segs);
		KUNIT_EXPECT_EQ(test, limit.window_segs,
				max(cases[i].rwnd_segs, 1));
		/* one arrival is one window, each as long as the one before */
		for (window = 0; window < 1000; window++)
			tcp_limit_arrival(&limit, &params, 2 + window,
					  max(cases[i].rwnd_segs, 1),
					  cases[i].rwnd_segs);
		KUNIT_EXPECT_EQ(test, limit.ratio_max, cases[i].ratio_max);
		KUNIT_EXPECT_EQ(test, limit.ratio, cases[i].ratio_max);
	}
}

static void test_maximum_falls_with_the_advertised_window(struct kunit *test)
{
	u64 now_us = 1;
	struct tcp_limit limit;
	int i;

	start(&limit, now_us);
	for (i = 0; i < 5; i++)
		window(&limit, &now_us, 1200);
	KUNIT_EXPECT_EQ(test, limit.ratio, 4);

	tcp_limit_arrival(&limit, &defaults, now_us + 100, RWND, 6);
	KUNIT_EXPECT_EQ(test, limit.ratio_max, 2);
	KUNIT_EXPECT_EQ(test, limit.ratio, 2);
	/* the length of a window does not change */
	KUNIT_EXPECT_EQ(test, limit.window_segs, RWND);
}

static void test_merged_segments_count_each(struct kunit *test)
{
	struct tcp_limit limit;

	start(&limit, 1000);
	tcp_limit_arrival(&limit, &defaults, 1500, RWND - 1, RWND);
	KUNIT_EXPECT_EQ(test, limit.window_us, 0);
	tcp_limit_arrival(&limit, &defaults, 1600, 20, RWND);
	KUNIT_EXPECT_EQ(test, limit.window_us, 600);
	KUNIT_EXPECT_EQ(test, limit.count_segs, 0);
}

static void test_reset(struct kunit *test)
{
	u64 now_us = 1000;
	struct tcp_limit limit;
	int i;

	start(&limit, now_us);
	for (i = 0; i < 3; i++)
		window(&limit, &now_us, 1200);
	KUNIT_EXPECT_EQ(test, limit.ratio, 3);
	tcp_limit_arrival(&limit, &defaults, now_us, RWND / 2, RWND);

	tcp_limit_reset(&limit);
	KUNIT_EXPECT_EQ(test, limit.ratio, 1);

	/* counting restarts, and the first window is compared with none */
	tcp_limit_arrival(&limit, &defaults, now_us, START - 1, RWND);
	KUNIT_EXPECT_EQ(test, limit.window_segs, 0);
	tcp_limit_arrival(&limit, &defaults, now_us, 1, RWND);
	KUNIT_EXPECT_EQ(test, limit.window_segs, RWND);
	window(&limit, &now_us, 12);
	KUNIT_EXPECT_EQ(test, limit.ratio, 1);
	window(&limit, &now_us, 12);
	KUNIT_EXPECT_EQ(test, limit.ratio, 2);
}

static void test_times_at_the_limits(struct kunit *test)
{
	struct tcp_limit limit;

	/* a duration of 0 counts as 1 us */
	start(&limit, 1000);
	tcp_limit_arrival(&limit, &defaults, 1000, RWND, RWND);
	KUNIT_EXPECT_EQ(test, limit.window_us, 1);
	tcp_limit_arrival(&limit, &defaults, 1000, RWND, RWND);
	KUNIT_EXPECT_EQ(test, limit.ratio, 2);

	/* two hours of silence */
	tcp_limit_arrival(&limit, &defaults, 7200 * 1000000ULL, RWND, RWND);
	KUNIT_EXPECT_EQ(test, limit.window_us, U32_MAX);
	KUNIT_EXPECT_EQ(test, limit.ratio, 1);
}

static struct kunit_case tcp_limit_cases[] = {
	KUNIT_CASE(test_start_of_limiting),
	KUNIT_CASE(test_limiting_begins_after_the_count),
	KUNIT_CASE(test_count_follows_the_advertised_window),
	KUNIT_CASE(test_count_by_sysctl),
	KUNIT_CASE(test_ratio),
	KUNIT_CASE(test_maximum),
	KUNIT_CASE(test_maximum_falls_with_the_advertised_window),
	KUNIT_CASE(test_merged_segments_count_each),
	KUNIT_CASE(test_reset),
	KUNIT_CASE(test_times_at_the_limits),
	{}
};

static struct kunit_suite tcp_limit_suite = {
	.name = "tcp_ackpol_limit",
	.test_cases = tcp_limit_cases,
};

kunit_test_suite(tcp_limit_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of dynamic ACK limiting");
