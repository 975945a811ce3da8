// SPDX-License-Identifier: GPL-2.0-only
/* Distance, path loss and noise compared with values calculated by hand. */
#include <kunit/test.h>
#include <linux/time64.h>
#include "expect_near.h"
#include "propagation.h"

#define SECONDS(count)	((count) * (u64)NSEC_PER_SEC)

static void distance_test(struct kunit *test)
{
	const struct airsim_position origin = {};
	const struct airsim_position near = { .x_mm = 600, .y_mm = 600 };
	const struct airsim_position there = { .x_mm = -3000, .y_mm = 4000 };
	const struct airsim_position far = { .x_mm = S32_MAX, .y_mm = S32_MAX };
	const struct airsim_position opposite = {
		.x_mm = S32_MIN,
		.y_mm = S32_MIN,
	};

	KUNIT_EXPECT_EQ(test, 5000, airsim_distance_mm(&origin, &there, 0));
	KUNIT_EXPECT_EQ(test, 5000, airsim_distance_mm(&there, &origin, 0));
	/* 849 mm and 0 count as one metre. */
	KUNIT_EXPECT_EQ(test, 1000, airsim_distance_mm(&origin, &near, 0));
	KUNIT_EXPECT_EQ(test, 1000, airsim_distance_mm(&there, &there, 0));
	/* The limit of each axis, 2147483647 mm, times the square root of 2. */
	KUNIT_EXPECT_EQ(test, 3037000498U,
			airsim_distance_mm(&far, &opposite, 0));
}

/* One moves along x from 10 m on, the other backwards along y from 20 m. */
static void walk_test(struct kunit *test)
{
	const struct airsim_position still = {};
	const struct airsim_position away = {
		.x_mm = 10000,
		.vx_mm_per_s = 1500,
		.since_ns = SECONDS(5),
	};
	const struct airsim_position back = {
		.y_mm = 20000,
		.vy_mm_per_s = -1000,
		.since_ns = SECONDS(10),
	};

	KUNIT_EXPECT_EQ(test, 10000,
			airsim_distance_mm(&still, &away, SECONDS(5)));
	KUNIT_EXPECT_EQ(test, 10750,
			airsim_distance_mm(&still, &away, 5500000000ULL));
	/* Past the origin: 5 m beyond it. */
	KUNIT_EXPECT_EQ(test, 5000,
			airsim_distance_mm(&still, &back, SECONDS(35)));
	/* (10 + 1.5 * 20, 0) m and (0, 20 - 15) m. */
	expect_near(test, 40311, airsim_distance_mm(&away, &back, SECONDS(25)),
		    1);
}

/* mm/s times nanoseconds overflows 63 bits: at 46117 s only on the left. */
static void long_walk_test(struct kunit *test)
{
	const struct airsim_position still = {};
	const struct airsim_position left = { .vx_mm_per_s = 200000 };
	const struct airsim_position right = {
		.y_mm = 7000,
		.vx_mm_per_s = 200000,
	};
	const struct airsim_position slower = { .vx_mm_per_s = 199999 };

	KUNIT_EXPECT_EQ(test, 7000,
			airsim_distance_mm(&left, &right, SECONDS(604800)));
	KUNIT_EXPECT_EQ(test, 46117,
			airsim_distance_mm(&left, &slower, SECONDS(46117)));
	KUNIT_EXPECT_EQ(test, S32_MAX,
			airsim_distance_mm(&still, &left, SECONDS(604800)));
	/* 200 days: in microseconds and millimetres the product overflows. */
	KUNIT_EXPECT_EQ(test, -17280000000000LL,
			airsim_coordinate_mm(0, -1000000, SECONDS(17280000)));
}

static void path_loss_test(struct kunit *test)
{
	static const struct {
		u32 exponent_milli;
		u32 distance_mm;
		s32 loss_mdb;
	} cases[] = {
		{ 3000, 1000, 46700 },
		{ 3000, 10000, 46700 + 30000 },
		{ 3000, 100000, 46700 + 60000 },
		/* log10(2) = 0.30103, log10(50) = 1.69897 */
		{ 2000, 2000, 46700 + 6021 },
		{ 3500, 50000, 46700 + 59464 },
		{ 0, 50000, 46700 },
		{ 6000, 1000000000, 46700 + 360000 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct airsim_propagation propagation = {
			.exponent_milli = cases[i].exponent_milli,
			.reference_mdb = 46700,
		};

		expect_near(test, cases[i].loss_mdb,
			    airsim_path_loss_mdb(&propagation,
						 cases[i].distance_mm), 20);
	}
}

/* -174 + 7 dBm and 10 log10 of 20 to 160 million: 73.01, then 3.01 more. */
static void noise_test(struct kunit *test)
{
	expect_near(test, -93990, airsim_noise_mdbm(20), 20);
	expect_near(test, -90979, airsim_noise_mdbm(40), 20);
	expect_near(test, -87969, airsim_noise_mdbm(80), 20);
	expect_near(test, -84959, airsim_noise_mdbm(160), 20);
}

static struct kunit_case propagation_cases[] = {
	KUNIT_CASE(distance_test),
	KUNIT_CASE(walk_test),
	KUNIT_CASE(long_walk_test),
	KUNIT_CASE(path_loss_test),
	KUNIT_CASE(noise_test),
	{}
};

static struct kunit_suite propagation_suite = {
	.name = "airsim_propagation",
	.test_cases = propagation_cases,
};

kunit_test_suite(propagation_suite);
