// SPDX-License-Identifier: GPL-2.0-only
/* Conversions between levels and powers. */
#include <kunit/test.h>
#include "decibel.h"
#include "expect_near.h"

/* Ten to the power of a tenth of the decibels above -140 dBm. */
static void power_test(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 1, airsim_power(-140000));
	KUNIT_EXPECT_EQ(test, 1, airsim_power(S32_MIN));
	expect_near(test, 10, airsim_power(-130000), 1);
	/* 10^4.6 */
	expect_near(test, 39811, airsim_power(-94000), 2);
	expect_near(test, 100000000, airsim_power(-60000), 2000);
	expect_near(test, 1000000000000000000LL, airsim_power(40000),
		    20000000000000LL);
	KUNIT_EXPECT_EQ(test, airsim_power(40000), airsim_power(S32_MAX));
}

static void round_trip_test(struct kunit *test)
{
	s32 mdbm;

	/* Below -100 dBm, rounding to whole units takes more. */
	for (mdbm = -100000; mdbm <= 40000; mdbm += 123)
		expect_near(test, mdbm, airsim_power_mdbm(airsim_power(mdbm)),
			    2);
}

/* Two equal signals are 3.010 dB stronger than one, ten are 10 dB. */
static void sum_test(struct kunit *test)
{
	expect_near(test, -66990, airsim_power_mdbm(2 * airsim_power(-70000)),
		    2);
	expect_near(test, 30000, airsim_power_mdbm(10 * airsim_power(20000)),
		    2);
	/* -80 and -90 dBm: 10 log10(10^-8 + 10^-9). */
	expect_near(test, -79586,
		    airsim_power_mdbm(airsim_power(-80000) +
				      airsim_power(-90000)), 2);
}

static struct kunit_case decibel_test_cases[] = {
	KUNIT_CASE(power_test),
	KUNIT_CASE(round_trip_test),
	KUNIT_CASE(sum_test),
	{}
};

static struct kunit_suite decibel_suite = {
	.name = "airsim_decibel",
	.test_cases = decibel_test_cases,
};

kunit_test_suite(decibel_suite);
