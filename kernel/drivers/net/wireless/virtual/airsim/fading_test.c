// SPDX-License-Identifier: GPL-2.0-only
/* Fading compared with the distributions of Rayleigh and Rician envelopes. */
#include <kunit/test.h>
#include <linux/math64.h>
#include <linux/time64.h>
#include "decibel.h"
#include "expect_near.h"
#include "fading.h"

#define LINKS	40
#define SAMPLES	1000
/* Of 10 Hz: a tenth of the fastest period. */
#define STEP_NS	(10 * (u64)NSEC_PER_MSEC)

static const struct airsim_fading rayleigh = { .doppler_millihz = 10000 };
/* 10 dB */
static const struct airsim_fading rician = {
	.doppler_millihz = 10000,
	.rician_k_milli = 10000,
};

/* How many of a million samples of all links are below a level. */
static u32 below_ppm(const struct airsim_fading *fading, s32 level_mdb)
{
	u32 link, i, below = 0;

	for (link = 0; link < LINKS; link++)
		for (i = 0; i < SAMPLES; i++)
			below += airsim_fading_mdb(fading, link,
						   i * STEP_NS) < level_mdb;
	return below * (1000000 / (LINKS * SAMPLES));
}

/* Mean and variance of the power, in thousandths of the mean and its square. */
static void moments(const struct airsim_fading *fading, u64 *mean, u64 *variance)
{
	u64 sum = 0, squares = 0, count = LINKS * SAMPLES;
	u32 link, i;

	for (link = 0; link < LINKS; link++)
		for (i = 0; i < SAMPLES; i++) {
			/* A mean of 10^6 */
			u64 power = airsim_power(airsim_fading_mdb(fading, link,
								   i * STEP_NS) -
						 80000);

			sum += power;
			squares += div_u64(power * power, 1000000);
		}
	*mean = div_u64(sum, count * 1000);
	*variance = div_u64(squares, count * 1000) - *mean * *mean / 1000;
}

/* The power has an exponential distribution: 1 - exp(-10^(level / 10)). */
static void rayleigh_test(struct kunit *test)
{
	u64 mean, variance;

	moments(&rayleigh, &mean, &variance);
	expect_near(test, 1000, mean, 20);
	expect_near(test, 1000, variance, 80);
	expect_near(test, 632121, below_ppm(&rayleigh, 0), 10000);
	expect_near(test, 95163, below_ppm(&rayleigh, -10000), 5000);
	expect_near(test, 9950, below_ppm(&rayleigh, -20000), 1500);
}

/* The variance is (1 + 2 K) / (1 + K)^2: 21 / 121. */
static void rician_test(struct kunit *test)
{
	u64 mean, variance;

	moments(&rician, &mean, &variance);
	expect_near(test, 1000, mean, 20);
	expect_near(test, 174, variance, 20);
	KUNIT_EXPECT_EQ(test, 0, below_ppm(&rician, -20000));
}

/*
 * A Rayleigh envelope rises through its RMS value sqrt(2 pi) f / e times per
 * second: 922 times in 100 s with 10 Hz.
 */
static void doppler_test(struct kunit *test)
{
	u32 link, ms, crossings = 0;
	s32 before_mdb, now_mdb;

	for (link = 0; link < 10; link++) {
		before_mdb = airsim_fading_mdb(&rayleigh, link, 0);
		for (ms = 1; ms <= 10000; ms++) {
			now_mdb = airsim_fading_mdb(&rayleigh, link,
						    ms * (u64)NSEC_PER_MSEC);
			crossings += before_mdb < 0 && now_mdb >= 0;
			before_mdb = now_mdb;
		}
	}
	expect_near(test, 922, crossings, 50);
}

/* Links fade independently: both of two are below -10 dB in 0.9% of the time. */
static void independence_test(struct kunit *test)
{
	u32 link, i, both = 0;

	for (link = 0; link < LINKS; link++)
		for (i = 0; i < SAMPLES; i++)
			both += airsim_fading_mdb(&rayleigh, link,
						  i * STEP_NS) < -10000 &&
				airsim_fading_mdb(&rayleigh, link + 1,
						  i * STEP_NS) < -10000;
	expect_near(test, LINKS * SAMPLES / 110, both, 80);
}

/* Nearly a day later the level still changes as slowly as it should. */
static void late_test(struct kunit *test)
{
	const u64 late_ns = 80000 * (u64)NSEC_PER_SEC;
	u32 i;

	for (i = 0; i < 100; i++)
		expect_near(test,
			    airsim_fading_mdb(&rician, 7, late_ns + i * STEP_NS),
			    airsim_fading_mdb(&rician, 7,
					      late_ns + i * STEP_NS + 1000), 20);
}

static void off_test(struct kunit *test)
{
	const struct airsim_fading none = { .rician_k_milli = 1000 };

	KUNIT_EXPECT_EQ(test, 0, airsim_fading_mdb(&none, 1, STEP_NS));
}

static struct kunit_case fading_test_cases[] = {
	KUNIT_CASE(rayleigh_test),
	KUNIT_CASE(rician_test),
	KUNIT_CASE(doppler_test),
	KUNIT_CASE(independence_test),
	KUNIT_CASE(late_test),
	KUNIT_CASE(off_test),
	{}
};

static struct kunit_suite fading_suite = {
	.name = "airsim_fading",
	.test_cases = fading_test_cases,
};

kunit_test_suite(fading_suite);
