// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of "auto": arrivals in, rule and delay of the ACK out.
 */

#include <kunit/test.h>

#include "tcp_ackpol_auto.h"

#define MSS	1448
#define RTT_US	20000
#define QUEUE_US 5000

static const struct tcp_auto_params params = {
	.min_interval_us = 2000,
	.max_interval_us = 10000,
};

/* State, current time and sequence number */
struct tcp_auto_run {
	struct tcp_auto state;
	u64 now_us;
	u32 seq;
};

static void run_arrivals(struct tcp_auto_run *run, u32 count, u32 gap_us,
			 u32 rtt_us)
{
	u32 burst_us;

	while (count--) {
		run->now_us += gap_us;
		run->seq += MSS;
		tcp_auto_gap(&run->state, gap_us);
		if (!tcp_auto_arrival(&run->state, run->now_us, run->seq, rtt_us))
			continue;
		burst_us = tcp_auto_end_round(&run->state, run->now_us,
					      run->seq, rtt_us);
		tcp_auto_decide(&run->state, &params, burst_us, MSS, rtt_us);
	}
}

/* A round of @count segments */
static void run_round(struct tcp_auto_run *run, u32 count)
{
	run_arrivals(run, count - 1, RTT_US / count, RTT_US);
	run_arrivals(run, 1, RTT_US - (count - 1) * (RTT_US / count), RTT_US);
}

static void run_rounds(struct tcp_auto_run *run, int rounds, u32 count)
{
	while (rounds--)
		run_round(run, count);
}

static bool like_default(const struct tcp_auto_run *run)
{
	return !run->state.interval_us;
}

/* Data waits in queues for a quarter of the round trip */
static void run_first_arrival(struct tcp_auto_run *run)
{
	run_arrivals(run, 1, 0, RTT_US - QUEUE_US);
}

/* A connection with 300 segments per round, after slow start */
static struct tcp_auto_run steady(void)
{
	struct tcp_auto_run run = { .now_us = 1000000, .seq = MSS };

	run_first_arrival(&run);
	run_rounds(&run, 4, 300);
	run.state.received = 100000;
	return run;
}

static void test_slow_start_has_linux_rule(struct kunit *test)
{
	struct tcp_auto_run run = { .now_us = 1000000 };
	u32 count;

	KUNIT_EXPECT_TRUE(test, like_default(&run));
	run_first_arrival(&run);
	for (count = 10; count < 1000; count *= 2) {
		run_round(&run, count);
		KUNIT_EXPECT_TRUE(test, like_default(&run));
	}

	/* the first of these is still faster */
	run_round(&run, 1000);
	run_round(&run, 1000);
	run_round(&run, 1000);
	KUNIT_EXPECT_TRUE(test, like_default(&run));
	run_round(&run, 1000);
	KUNIT_EXPECT_FALSE(test, like_default(&run));

	/* growth of a quarter is not slow start, of more is */
	run_round(&run, 1250);
	KUNIT_EXPECT_FALSE(test, like_default(&run));
	run_round(&run, 1251);
	KUNIT_EXPECT_TRUE(test, like_default(&run));
}

static void test_a_new_start_has_linux_rule(struct kunit *test)
{
	struct tcp_auto_run run = steady();

	KUNIT_EXPECT_FALSE(test, like_default(&run));
	tcp_auto_gap(&run.state, 200000);
	KUNIT_EXPECT_FALSE(test, like_default(&run));
	tcp_auto_gap(&run.state, 200001);
	KUNIT_EXPECT_TRUE(test, like_default(&run));
}

static void test_unknown_rtt_has_linux_rule(struct kunit *test)
{
	struct tcp_auto_run run = steady();

	tcp_auto_decide(&run.state, &params, 0, MSS, 0);
	KUNIT_EXPECT_TRUE(test, like_default(&run));
}

/* Half as much again as the shortest interval, at any round trip time */
static void test_empty_queue_has_linux_rule(struct kunit *test)
{
	static const struct {
		u32 rtt_us;
		u32 queue_us;
		int min_interval_us;
	} cases[] = {
		{ 3002, 3000, 2000 },
		{ RTT_US, 3000, 2000 },
		{ 1000000, 3000, 2000 },
		{ 43000, 1800, 1200 },
	};
	struct tcp_auto_run run = steady();
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct tcp_auto_params set = {
			.min_interval_us = cases[i].min_interval_us,
			.max_interval_us = 10000,
		};
		u32 rtt_us = cases[i].rtt_us;

		run.state.round_bytes = 10000 * MSS;
		run.state.min_rtt_us = rtt_us - cases[i].queue_us - 1;
		tcp_auto_decide(&run.state, &set, 0, MSS, rtt_us);
		KUNIT_EXPECT_FALSE_MSG(test, like_default(&run), "case %d", i);
		run.state.min_rtt_us = rtt_us - cases[i].queue_us;
		tcp_auto_decide(&run.state, &set, 0, MSS, rtt_us);
		KUNIT_EXPECT_TRUE_MSG(test, like_default(&run), "case %d", i);
	}

	/* an RTT below the shortest: no queue */
	run.state.min_rtt_us = RTT_US + 1;
	tcp_auto_decide(&run.state, &params, 0, MSS, RTT_US);
	KUNIT_EXPECT_TRUE(test, like_default(&run));
}

/* 8 segments in a sixteenth of the round trip are 128 in all of it */
static void test_few_segments_have_linux_rule(struct kunit *test)
{
	struct tcp_auto_run run = steady();

	run_round(&run, 128);
	KUNIT_EXPECT_FALSE(test, like_default(&run));
	run_round(&run, 127);
	KUNIT_EXPECT_TRUE(test, like_default(&run));

	/* with a queue of 15 ms the interval is 3.75 ms, 0.19 of the RTT */
	run.state.min_rtt_us = 5000;
	run_round(&run, 43);
	KUNIT_EXPECT_FALSE(test, like_default(&run));
	run_round(&run, 42);
	KUNIT_EXPECT_TRUE(test, like_default(&run));
}

/* A round of @count segments in @bursts, with gaps between these only */
static void run_bursts(struct tcp_auto_run *run, u32 count, u32 bursts)
{
	u32 i;

	for (i = 0; i < bursts; i++) {
		run_arrivals(run, 1, RTT_US / bursts, RTT_US);
		run_arrivals(run, count / bursts - 1, 0, RTT_US);
	}
}

/* Arrivals less than RTT / 16 apart are one burst */
static void test_dense_bursts_are_none(struct kunit *test)
{
	struct tcp_auto_run run = steady();

	run_bursts(&run, 340, 17);
	run_bursts(&run, 340, 17);
	KUNIT_EXPECT_EQ(test, run.state.interval_us, 1250);
	KUNIT_EXPECT_FALSE(test, run.state.is_bursty);
}

/* If they arrive within 2/3 of 7/8 of the round trip */
static void test_two_bursts_share_an_ack(struct kunit *test)
{
	struct tcp_auto_run run = steady();

	run_bursts(&run, 320, 2);
	run_bursts(&run, 320, 2);
	KUNIT_EXPECT_EQ(test, run.state.interval_us, 15000);
	KUNIT_EXPECT_TRUE(test, run.state.is_bursty);
	run_bursts(&run, 320, 1);
	run_bursts(&run, 320, 1);
	KUNIT_EXPECT_TRUE(test, like_default(&run));

	/* the first of these rounds has the last burst in addition */
	run_rounds(&run, 5, 320);
	KUNIT_EXPECT_EQ(test, run.state.interval_us, 1250);
	KUNIT_EXPECT_FALSE(test, run.state.is_bursty);
}

/* One and a half of four. All their gaps together are the round trip. */
static void test_gaps_between_bursts_add_up(struct kunit *test)
{
	struct tcp_auto_run run = steady();

	run_bursts(&run, 320, 4);
	run_bursts(&run, 320, 4);
	KUNIT_EXPECT_EQ(test, run.state.interval_us, 7500);
	KUNIT_EXPECT_TRUE(test, run.state.is_bursty);
}

/* Gaps before missing data do not count */
static void test_hole_forgets_gaps(struct kunit *test)
{
	struct tcp_auto_run run = steady();

	run_arrivals(&run, 3, 2000, RTT_US);
	tcp_auto_hole(&run.state);
	run_arrivals(&run, 1, 0, RTT_US);
	run_bursts(&run, 320, 2);
	KUNIT_EXPECT_EQ(test, run.state.interval_us, 15000);
}

/* A long round trip does not make rare bursts frequent */
static void test_bursts_within_three_intervals(struct kunit *test)
{
	struct tcp_auto_run run = steady();

	tcp_auto_decide(&run.state, &params, 20000, MSS, 400000);
	KUNIT_EXPECT_EQ(test, run.state.interval_us, 30000);
	tcp_auto_decide(&run.state, &params, 20001, MSS, 400000);
	KUNIT_EXPECT_TRUE(test, like_default(&run));
}

/* One gap, such as a scan or a retransmission by the radio */
static void test_gaps_of_less_than_half_the_round(struct kunit *test)
{
	struct tcp_auto_run run = steady();

	run_arrivals(&run, 1, RTT_US / 2 - 1, RTT_US);
	run_arrivals(&run, 300, RTT_US / 2 / 300 + 1, RTT_US);
	KUNIT_EXPECT_FALSE(test, like_default(&run));

	run = steady();
	run_arrivals(&run, 1, RTT_US / 2 + 100, RTT_US);
	run_arrivals(&run, 300, RTT_US / 2 / 300, RTT_US);
	KUNIT_EXPECT_TRUE(test, like_default(&run));
}

/* What arrives in a longer time than a round trip counts in proportion */
static void test_round_is_one_rtt(struct kunit *test)
{
	struct tcp_auto_run run = steady();

	KUNIT_EXPECT_EQ(test, run.state.round_bytes, 300 * MSS);
	run_arrivals(&run, 50, 100, RTT_US);
	run_arrivals(&run, 1, 95000, RTT_US);
	KUNIT_EXPECT_EQ(test, run.state.round_bytes, 51 * MSS / 5);
}

static void test_hole_ends_the_round(struct kunit *test)
{
	struct tcp_auto_run run = steady();

	tcp_auto_hole(&run.state);
	/* 1000 segments were out of order */
	run.seq += 1000 * MSS;
	run_arrivals(&run, 1, 20000, RTT_US);
	run_round(&run, 300);
	KUNIT_EXPECT_EQ(test, run.state.round_bytes, 300 * MSS);
	KUNIT_EXPECT_FALSE(test, like_default(&run));
}

static void test_sequence_numbers_wrap(struct kunit *test)
{
	struct tcp_auto_run run = steady();

	run.seq = -10 * MSS;
	tcp_auto_hole(&run.state);
	run_arrivals(&run, 1, 0, RTT_US);
	run_round(&run, 300);
	KUNIT_EXPECT_EQ(test, run.state.round_bytes, 300 * MSS);
}

static void test_silence_of_hours(struct kunit *test)
{
	struct tcp_auto_run run = steady();

	run_arrivals(&run, 1, 4000000000U, RTT_US);
	run_arrivals(&run, 1, 400000000, RTT_US);
	KUNIT_EXPECT_EQ(test, run.state.round_bytes, 0);
	KUNIT_EXPECT_TRUE(test, like_default(&run));
}

static void test_large_part_of_the_data_in_flight(struct kunit *test)
{
	struct tcp_auto_run run = steady();

	KUNIT_EXPECT_FALSE(test, tcp_auto_large(&run.state, 75 * MSS - 1, 75));
	KUNIT_EXPECT_TRUE(test, tcp_auto_large(&run.state, 75 * MSS, 75));

	/* a 64th of all before, if that is less */
	run.state.received = 640;
	KUNIT_EXPECT_TRUE(test, tcp_auto_large(&run.state, 10 * MSS, 10));
	KUNIT_EXPECT_FALSE(test, tcp_auto_large(&run.state, 9 * MSS, 9));
	run.state.received = U32_MAX;
	KUNIT_EXPECT_FALSE(test, tcp_auto_large(&run.state, 9 * MSS, 9));

	/* of bursts, only that */
	run.state.is_bursty = true;
	run.state.received = 64000;
	KUNIT_EXPECT_FALSE(test, tcp_auto_large(&run.state, 999 * MSS, 999));
	KUNIT_EXPECT_TRUE(test, tcp_auto_large(&run.state, 1000 * MSS, 1000));
}

static void test_shortest_rtt(struct kunit *test)
{
	struct tcp_auto_run run = steady();

	KUNIT_EXPECT_EQ(test, run.state.min_rtt_us, RTT_US - QUEUE_US);
	run_arrivals(&run, 1, 100, 0);
	KUNIT_EXPECT_EQ(test, run.state.min_rtt_us, RTT_US - QUEUE_US);
	run_arrivals(&run, 1, 100, RTT_US - QUEUE_US - 1);
	KUNIT_EXPECT_EQ(test, run.state.min_rtt_us, RTT_US - QUEUE_US - 1);
	tcp_auto_start(&run.state);
	KUNIT_EXPECT_EQ(test, run.state.min_rtt_us, RTT_US - QUEUE_US - 1);
}

/* The moving average of 300 and then 200 segments per round falls below 225 in
 * the 22nd round: 200 + 100 * (15 / 16)^22 = 224.2
 */
static void test_lower_rate_is_another_path(struct kunit *test)
{
	struct tcp_auto_run run = steady();

	run_rounds(&run, 32, 300);
	run_rounds(&run, 21, 200);
	KUNIT_EXPECT_EQ(test, run.state.min_rtt_us, RTT_US - QUEUE_US);
	run_round(&run, 200);
	KUNIT_EXPECT_EQ(test, run.state.min_rtt_us, RTT_US);
	KUNIT_EXPECT_TRUE(test, like_default(&run));

	/* and the RTT without queues is measured again */
	run_arrivals(&run, 1, 0, RTT_US - 2 * QUEUE_US);
	KUNIT_EXPECT_EQ(test, run.state.min_rtt_us, RTT_US - 2 * QUEUE_US);
	run_rounds(&run, 2, 200);
	KUNIT_EXPECT_TRUE(test, like_default(&run));
	run_round(&run, 200);
	KUNIT_EXPECT_FALSE(test, like_default(&run));
	run_rounds(&run, 100, 160);
	KUNIT_EXPECT_EQ(test, run.state.min_rtt_us, RTT_US - 2 * QUEUE_US);
	run_rounds(&run, 100, 110);
	KUNIT_EXPECT_EQ(test, run.state.min_rtt_us, RTT_US);

	/* growth is measured from the lower rate */
	run_round(&run, 150);
	KUNIT_EXPECT_TRUE(test, like_default(&run));
}

static void test_same_path(struct kunit *test)
{
	struct tcp_auto_run run = steady();

	/* a lower rate, but not by a quarter */
	run_rounds(&run, 32, 300);
	run_rounds(&run, 100, 230);
	/* some slow rounds, some fast ones */
	run_rounds(&run, 100, 300);
	run_rounds(&run, 4, 100);
	run_rounds(&run, 100, 300);
	run_rounds(&run, 3, 370);
	run_rounds(&run, 100, 300);
	KUNIT_EXPECT_EQ(test, run.state.min_rtt_us, RTT_US - QUEUE_US);

	/* the first rounds after slow start are not the path's */
	run = steady();
	run_rounds(&run, 20, 370);
	run_rounds(&run, 100, 250);
	KUNIT_EXPECT_EQ(test, run.state.min_rtt_us, RTT_US - QUEUE_US);

	/* slow start after a pause */
	tcp_auto_start(&run.state);
	run_rounds(&run, 4, 100);
	run_rounds(&run, 4, 200);
	run_rounds(&run, 100, 260);
	KUNIT_EXPECT_EQ(test, run.state.min_rtt_us, RTT_US - QUEUE_US);
	/* the path has changed in the meantime */
	tcp_auto_start(&run.state);
	run_rounds(&run, 38, 180);
	KUNIT_EXPECT_EQ(test, run.state.min_rtt_us, RTT_US);
}

static void test_delay(struct kunit *test)
{
	static const struct {
		u32 rtt_us;
		u32 min_rtt_us;
		u32 waited_us;
		u32 delay_us;
		u32 burst_us;
	} cases[] = {
		/* silence: RTT / 16, at most 2 ms */
		{ 8000, 4999, 499, 500 },
		{ 100000, 92000, 1999, 2000 },
		/* as long as the queue does not double the RTT */
		{ 8000, 4000, 0, 500 },
		{ 8000, 3999, 0, 4000 },
		{ 8000, 3999, 999, 3001 },
		/* interval: RTT / 16, at most 2 ms, with a short queue */
		{ 16000, 12999, 999, 1000 },
		{ 16000, 12999, 1000, 0 },
		{ 100000, 96999, 1999, 2000 },
		{ 100000, 96999, 2000, 0 },
		/* a quarter of the queue */
		{ 8000, 4000, 999, 500 },
		{ 8000, 4000, 1000, 0 },
		{ 50000, 20000, 7499, 17501 },
		{ 50000, 20000, 7500, 0 },
		/* at most 10 ms */
		{ 100000, 20000, 9999, 40001 },
		{ 100000, 20000, 10000, 0 },
		{ 4000000, 1, 9999, 1990001 },
		{ 4000000, 1, U32_MAX, 0 },
		/* one and a half bursts, or a quarter of the queue */
		{ 50000, 20000, 14999, 28751, 10000 },
		{ 50000, 20000, 15000, 0, 10000 },
		{ 50000, 10000, 9999, 33751, 4000 },
		{ 50000, 10000, 10000, 0, 4000 },
		/* silence between bursts, with a queue that does not double the RTT */
		{ 50001, 40001, 0, 43751, 5000 },
		{ 50001, 40001, 7499, 36252, 5000 },
	};
	const u64 first_us = 1ULL << 50;
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct tcp_auto state = {
			.min_rtt_us = cases[i].min_rtt_us,
			.round_bytes = U32_MAX,
			.flat_rounds = TCP_AUTO_FLAT_ROUNDS,
		};

		tcp_auto_decide(&state, &params, cases[i].burst_us, MSS,
				cases[i].rtt_us);
		KUNIT_EXPECT_EQ_MSG(test,
				    tcp_auto_delay_us(&state, first_us,
						      first_us + cases[i].waited_us),
				    cases[i].delay_us, "case %d", i);
	}
}

/* With a maximum below the minimum, the maximum holds */
static void test_maximum_below_minimum(struct kunit *test)
{
	static const struct tcp_auto_params odd = {
		.min_interval_us = 2000,
		.max_interval_us = 1000,
	};

	KUNIT_EXPECT_EQ(test, tcp_auto_interval_us(&odd, 100000, 100000), 1000);
}

static struct kunit_case tcp_auto_cases[] = {
	KUNIT_CASE(test_slow_start_has_linux_rule),
	KUNIT_CASE(test_a_new_start_has_linux_rule),
	KUNIT_CASE(test_unknown_rtt_has_linux_rule),
	KUNIT_CASE(test_empty_queue_has_linux_rule),
	KUNIT_CASE(test_few_segments_have_linux_rule),
	KUNIT_CASE(test_dense_bursts_are_none),
	KUNIT_CASE(test_two_bursts_share_an_ack),
	KUNIT_CASE(test_gaps_between_bursts_add_up),
	KUNIT_CASE(test_hole_forgets_gaps),
	KUNIT_CASE(test_bursts_within_three_intervals),
	KUNIT_CASE(test_gaps_of_less_than_half_the_round),
	KUNIT_CASE(test_round_is_one_rtt),
	KUNIT_CASE(test_hole_ends_the_round),
	KUNIT_CASE(test_sequence_numbers_wrap),
	KUNIT_CASE(test_silence_of_hours),
	KUNIT_CASE(test_large_part_of_the_data_in_flight),
	KUNIT_CASE(test_shortest_rtt),
	KUNIT_CASE(test_lower_rate_is_another_path),
	KUNIT_CASE(test_same_path),
	KUNIT_CASE(test_delay),
	KUNIT_CASE(test_maximum_below_minimum),
	{}
};

static struct kunit_suite tcp_auto_suite = {
	.name = "tcp_ackpol_auto",
	.test_cases = tcp_auto_cases,
};

kunit_test_suite(tcp_auto_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of the ACK policy auto");
