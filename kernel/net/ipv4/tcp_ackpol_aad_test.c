// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of TCP-AAD's estimator: arrival times in, delays out.
 */

#include <kunit/test.h>

#include "tcp_ackpol_aad.h"

static const struct tcp_aad_params defaults = TCP_AAD_PARAMS_DEFAULT;

/* Estimator and current time */
struct tcp_aad_run {
	struct tcp_aad aad;
	u64 now_us;
};

static void run_start(struct tcp_aad_run *run, u64 start_us)
{
	tcp_aad_start(&run->aad);
	run->now_us = start_us;
	tcp_aad_arrival(&run->aad, &defaults, start_us, TCP_AAD_INF);
}

static void run_arrival(struct tcp_aad_run *run,
			const struct tcp_aad_params *params, u32 iat_us)
{
	run->now_us += iat_us;
	tcp_aad_arrival(&run->aad, params, run->now_us, iat_us);
}

static u32 delay(const struct tcp_aad_run *run, u32 segs)
{
	return tcp_aad_delay_us(&run->aad, &defaults, segs);
}

static void test_first_arrival_has_no_time(struct kunit *test)
{
	struct tcp_aad_run run;

	run_start(&run, 5 * USEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, run.aad.iat_min_us, TCP_AAD_INF);
	KUNIT_EXPECT_EQ(test, run.aad.iat_curr_us, TCP_AAD_INF);
	KUNIT_EXPECT_EQ(test, run.aad.reset_us, 5 * USEC_PER_SEC);
}

static void test_maximum_while_no_time_is_known(struct kunit *test)
{
	struct tcp_aad_run run;

	run_start(&run, USEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, delay(&run, 2), 500000);
	run_arrival(&run, &defaults, 40);
	KUNIT_EXPECT_EQ(test, delay(&run, 64), 500000);
}

static void test_maximum_below_the_segment_count(struct kunit *test)
{
	struct tcp_aad_params params = defaults;
	struct tcp_aad_run run;

	run_start(&run, USEC_PER_SEC);
	run_arrival(&run, &defaults, 400);
	KUNIT_EXPECT_EQ(test, delay(&run, 1), 500000);
	KUNIT_EXPECT_EQ(test, delay(&run, 2), 600);

	params.segments = 8;
	KUNIT_EXPECT_EQ(test, tcp_aad_delay_us(&run.aad, &params, 7), 500000);
	KUNIT_EXPECT_EQ(test, tcp_aad_delay_us(&run.aad, &params, 8), 600);
}

static void test_threshold_itself_is_discarded(struct kunit *test)
{
	struct tcp_aad_run run;

	run_start(&run, USEC_PER_SEC);
	run_arrival(&run, &defaults, 200);
	KUNIT_EXPECT_EQ(test, run.aad.iat_curr_us, TCP_AAD_INF);
	run_arrival(&run, &defaults, 201);
	KUNIT_EXPECT_EQ(test, run.aad.iat_curr_us, 201);
	KUNIT_EXPECT_EQ(test, run.aad.iat_min_us, 201);
	run_arrival(&run, &defaults, 0);
	KUNIT_EXPECT_EQ(test, run.aad.iat_curr_us, 201);
}

static void test_weights_of_least_and_last(struct kunit *test)
{
	struct tcp_aad_run run;

	run_start(&run, USEC_PER_SEC);
	run_arrival(&run, &defaults, 300);
	KUNIT_EXPECT_EQ(test, delay(&run, 2), 450);
	run_arrival(&run, &defaults, 700);
	/* (300 * 0.75 + 700 * 0.25) * 1.5 */
	KUNIT_EXPECT_EQ(test, delay(&run, 2), 600);
	/* an IAT within an aggregate changes nothing */
	run_arrival(&run, &defaults, 44);
	KUNIT_EXPECT_EQ(test, delay(&run, 3), 600);
}

static void test_parameters(struct kunit *test)
{
	struct tcp_aad_params params = defaults;
	struct tcp_aad_run run;

	run_start(&run, USEC_PER_SEC);
	run_arrival(&run, &defaults, 300);
	run_arrival(&run, &defaults, 700);

	params.beta_percent = 300;
	KUNIT_EXPECT_EQ(test, tcp_aad_delay_us(&run.aad, &params, 2), 1200);
	params.alpha_percent = 100;
	KUNIT_EXPECT_EQ(test, tcp_aad_delay_us(&run.aad, &params, 2), 900);
	params.alpha_percent = 0;
	KUNIT_EXPECT_EQ(test, tcp_aad_delay_us(&run.aad, &params, 2), 2100);
	params.max_delay_us = 1000;
	KUNIT_EXPECT_EQ(test, tcp_aad_delay_us(&run.aad, &params, 2), 1000);
	KUNIT_EXPECT_EQ(test, tcp_aad_delay_us(&run.aad, &params, 1), 1000);

	params.min_iat_us = 2000;
	run_arrival(&run, &params, 2000);
	KUNIT_EXPECT_EQ(test, run.aad.iat_curr_us, 700);
}

static void test_no_overflow(struct kunit *test)
{
	struct tcp_aad_params params = defaults;
	struct tcp_aad_run run;

	params.beta_percent = 10000;
	params.reset_ms = 3600 * MSEC_PER_SEC;
	run_start(&run, USEC_PER_SEC);
	run_arrival(&run, &params, TCP_AAD_INF - 1);
	KUNIT_EXPECT_EQ(test, tcp_aad_delay_us(&run.aad, &params, 2), 500000);
}

static void test_reset_forgets_the_least(struct kunit *test)
{
	struct tcp_aad_run run;

	run_start(&run, USEC_PER_SEC);
	run_arrival(&run, &defaults, 300);
	run_arrival(&run, &defaults, 999699);
	KUNIT_EXPECT_EQ(test, run.aad.iat_min_us, 300);

	/* one second after the first arrival, to the microsecond */
	run_arrival(&run, &defaults, 1);
	KUNIT_EXPECT_EQ(test, run.aad.reset_us, 2 * USEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, run.aad.iat_min_us, TCP_AAD_INF);
	KUNIT_EXPECT_EQ(test, delay(&run, 2), 500000);

	run_arrival(&run, &defaults, 400);
	KUNIT_EXPECT_EQ(test, run.aad.iat_min_us, 400);
	KUNIT_EXPECT_EQ(test, delay(&run, 2), 600);
}

static void test_reset_by_a_valid_time_keeps_it(struct kunit *test)
{
	struct tcp_aad_run run;

	run_start(&run, USEC_PER_SEC);
	run_arrival(&run, &defaults, 300);
	run_arrival(&run, &defaults, USEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, run.aad.iat_min_us, USEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, run.aad.iat_curr_us, USEC_PER_SEC);
}

static struct kunit_case tcp_aad_cases[] = {
	KUNIT_CASE(test_first_arrival_has_no_time),
	KUNIT_CASE(test_maximum_while_no_time_is_known),
	KUNIT_CASE(test_maximum_below_the_segment_count),
	KUNIT_CASE(test_threshold_itself_is_discarded),
	KUNIT_CASE(test_weights_of_least_and_last),
	KUNIT_CASE(test_parameters),
	KUNIT_CASE(test_no_overflow),
	KUNIT_CASE(test_reset_forgets_the_least),
	KUNIT_CASE(test_reset_by_a_valid_time_keeps_it),
	{}
};

static struct kunit_suite tcp_aad_suite = {
	.name = "tcp_ackpol_aad",
	.test_cases = tcp_aad_cases,
};

kunit_test_suite(tcp_aad_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of TCP-AAD's estimator");
