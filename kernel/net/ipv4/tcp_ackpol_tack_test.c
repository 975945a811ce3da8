// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of TACK's estimators: arrivals in, time between ACKs out.
 */

#include <kunit/test.h>

#include "tcp_ackpol_tack.h"

#define MSS	1448

static const struct tcp_tack_params defaults = TCP_TACK_PARAMS_DEFAULT;

/* Estimator, current time and sequence number */
struct tcp_tack_run {
	struct tcp_tack tack;
	u64 now_us;
	u32 seq;
};

static void run_arrivals(struct tcp_tack_run *run, u32 count, u32 gap_us,
			 u32 rtt_us)
{
	while (count--) {
		run->now_us += gap_us;
		run->seq += MSS;
		tcp_tack_arrival(&run->tack, run->now_us, run->seq, rtt_us);
	}
}

static u32 rate(const struct tcp_tack_run *run)
{
	return minmax_get(&run->tack.bytes_per_ms);
}

static u32 interval(const struct tcp_tack_run *run)
{
	return tcp_tack_interval_us(&run->tack, &defaults, MSS);
}

static void test_interval(struct kunit *test)
{
	static const struct {
		u32 rtt_us;
		u32 bytes_per_ms;
		int segments;
		int beta;
		u32 period_us;
		u32 interval_us;
	} cases[] = {
		/* large bandwidth-delay product: the RTT decides */
		{ 20000, 30000, 2, 4, 5000, 5000 },
		{ 20000, 30000, 2, 8, 2500, 2500 },
		{ 200000, 125000, 2, 4, 50000, 50000 },
		/* small one: the bytes decide. 2 * 1448 bytes at 12 Mbit/s */
		{ 1000, 1500, 2, 4, 250, 1930 },
		{ 1000, 1500, 8, 4, 250, 7722 },
		{ 1, 1500, 2, 4, 0, 1930 },
		/* equal at beta * L segments per round trip */
		{ 8000, 1448, 2, 4, 2000, 2000 },
		{ 8000, 1449, 2, 4, 2000, 2000 },
		{ 8000, 1447, 2, 4, 2000, 2001 },
		/* no or little data delivered */
		{ 20000, 0, 2, 4, 5000, U32_MAX },
		{ 20000, 1, 2, 4, 5000, 2896000 },
		/* no overflow */
		{ U32_MAX, U32_MAX, 1, 1, U32_MAX, U32_MAX },
		{ U32_MAX, 1, 65535, 65535, 65537, U32_MAX },
	};
	struct tcp_tack tack = {};
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct tcp_tack_params params = {
			.segments = cases[i].segments,
			.beta = cases[i].beta,
		};

		minmax_reset(&tack.rtt_us, 0, cases[i].rtt_us);
		minmax_reset(&tack.bytes_per_ms, 0, cases[i].bytes_per_ms);
		KUNIT_EXPECT_EQ_MSG(test, tcp_tack_period_us(&tack, &params),
				    cases[i].period_us, "case %d", i);
		KUNIT_EXPECT_EQ_MSG(test,
				    tcp_tack_interval_us(&tack, &params, MSS),
				    cases[i].interval_us, "case %d", i);
	}
}

static void test_unknown_at_first(struct kunit *test)
{
	struct tcp_tack_run run = {};

	KUNIT_EXPECT_EQ(test, tcp_tack_rtt_us(&run.tack), 0);
	KUNIT_EXPECT_EQ(test, interval(&run), U32_MAX);

	/* no measurement without an RTT */
	run.now_us = 1000000;
	run_arrivals(&run, 100, 1000, 0);
	KUNIT_EXPECT_EQ(test, rate(&run), 0);
	KUNIT_EXPECT_EQ(test, interval(&run), U32_MAX);
}

static void test_rate_of_a_round_trip(struct kunit *test)
{
	struct tcp_tack_run run = { .now_us = 1000000 };

	run_arrivals(&run, 1, 0, 10000);
	KUNIT_EXPECT_EQ(test, tcp_tack_rtt_us(&run.tack), 10000);

	/* the round trip is over with the 20th segment, 500 us apart */
	run_arrivals(&run, 19, 500, 10000);
	KUNIT_EXPECT_EQ(test, rate(&run), 0);
	run_arrivals(&run, 1, 500, 10000);
	KUNIT_EXPECT_EQ(test, rate(&run), 2 * MSS);
	KUNIT_EXPECT_EQ(test, interval(&run), 2500);
}

/* Bursts faster than the path are not its rate */
static void test_rate_over_bursts(struct kunit *test)
{
	struct tcp_tack_run run = { .now_us = 1000000 };
	int i;

	run_arrivals(&run, 1, 0, 10000);
	for (i = 0; i < 4; i++) {
		run_arrivals(&run, 31, 40, 10000);
		run_arrivals(&run, 1, 8760, 10000);
	}
	KUNIT_EXPECT_EQ(test, rate(&run), 32 * MSS / 10);
}

static void test_rate_is_the_maximum_of_ten_round_trips(struct kunit *test)
{
	struct tcp_tack_run run = { .now_us = 1000000 };

	run_arrivals(&run, 1, 0, 10000);
	run_arrivals(&run, 20, 500, 10000);
	KUNIT_EXPECT_EQ(test, rate(&run), 2 * MSS);

	/* half of the rate for ten round trips */
	run_arrivals(&run, 100, 1000, 10000);
	KUNIT_EXPECT_EQ(test, rate(&run), 2 * MSS);
	run_arrivals(&run, 10, 1000, 10000);
	KUNIT_EXPECT_EQ(test, rate(&run), MSS);

	/* a higher rate counts at once */
	run_arrivals(&run, 40, 250, 10000);
	KUNIT_EXPECT_EQ(test, rate(&run), 4 * MSS);
}

static void test_rate_after_silence(struct kunit *test)
{
	struct tcp_tack_run run = { .now_us = 1000000 };

	run_arrivals(&run, 1, 0, 10000);
	run_arrivals(&run, 20, 500, 10000);
	KUNIT_EXPECT_LE(test, interval(&run),
			tcp_tack_period_us(&run.tack, &defaults));

	/* one segment per second: the bytes decide until the next round trip */
	run_arrivals(&run, 1, 1000000, 10000);
	KUNIT_EXPECT_EQ(test, rate(&run), 1);
	KUNIT_EXPECT_GT(test, interval(&run),
			tcp_tack_period_us(&run.tack, &defaults));
	run_arrivals(&run, 20, 500, 10000);
	KUNIT_EXPECT_EQ(test, rate(&run), 2 * MSS);

	/* an hour and more, beyond 2^32 us */
	run_arrivals(&run, 1, 4000000000U, 10000);
	run_arrivals(&run, 1, 400000000, 10000);
	KUNIT_EXPECT_EQ(test, rate(&run), 0);
	KUNIT_EXPECT_EQ(test, interval(&run), U32_MAX);
}

static void test_sequence_numbers_wrap(struct kunit *test)
{
	struct tcp_tack_run run = { .now_us = 1000000, .seq = -10 * MSS };

	run_arrivals(&run, 1, 0, 10000);
	run_arrivals(&run, 20, 500, 10000);
	KUNIT_EXPECT_EQ(test, rate(&run), 2 * MSS);
}

static void test_hole_ends_the_measurement(struct kunit *test)
{
	struct tcp_tack_run run = { .now_us = 1000000 };

	run_arrivals(&run, 1, 0, 10000);
	run_arrivals(&run, 15, 500, 10000);
	tcp_tack_hole(&run.tack);

	/* 1000 segments were out of order */
	run.seq += 1000 * MSS;
	run_arrivals(&run, 1, 20000, 10000);
	run_arrivals(&run, 19, 500, 10000);
	KUNIT_EXPECT_EQ(test, rate(&run), 0);
	run_arrivals(&run, 1, 500, 10000);
	KUNIT_EXPECT_EQ(test, rate(&run), 2 * MSS);
}

static void test_least_round_trip_of_ten_seconds(struct kunit *test)
{
	struct tcp_tack_run run = { .now_us = 1000000 };

	run_arrivals(&run, 10, 5000, 5000);
	KUNIT_EXPECT_EQ(test, tcp_tack_rtt_us(&run.tack), 5000);

	/* a queue grows */
	run_arrivals(&run, 990, 10000, 20000);
	KUNIT_EXPECT_EQ(test, tcp_tack_rtt_us(&run.tack), 5000);
	run_arrivals(&run, 20, 10000, 20000);
	KUNIT_EXPECT_EQ(test, tcp_tack_rtt_us(&run.tack), 20000);

	/* a shorter one counts at once */
	run_arrivals(&run, 4, 5000, 3000);
	KUNIT_EXPECT_EQ(test, tcp_tack_rtt_us(&run.tack), 3000);

	/* no RTT, no sample */
	run_arrivals(&run, 4, 5000, 0);
	KUNIT_EXPECT_EQ(test, tcp_tack_rtt_us(&run.tack), 3000);
}

static struct kunit_case tcp_tack_cases[] = {
	KUNIT_CASE(test_interval),
	KUNIT_CASE(test_unknown_at_first),
	KUNIT_CASE(test_rate_of_a_round_trip),
	KUNIT_CASE(test_rate_over_bursts),
	KUNIT_CASE(test_rate_is_the_maximum_of_ten_round_trips),
	KUNIT_CASE(test_rate_after_silence),
	KUNIT_CASE(test_sequence_numbers_wrap),
	KUNIT_CASE(test_hole_ends_the_measurement),
	KUNIT_CASE(test_least_round_trip_of_ten_seconds),
	{}
};

static struct kunit_suite tcp_tack_suite = {
	.name = "tcp_ackpol_tack",
	.test_cases = tcp_tack_cases,
};

kunit_test_suite(tcp_tack_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of TACK's estimators");
