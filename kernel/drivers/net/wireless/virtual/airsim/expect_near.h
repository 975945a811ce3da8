/* SPDX-License-Identifier: GPL-2.0-only */
/* For KUnit tests: a value with a tolerance. */
#ifndef AIRSIM_EXPECT_NEAR_H
#define AIRSIM_EXPECT_NEAR_H

#include <kunit/test.h>
#include <linux/types.h>

static inline void expect_near(struct kunit *test, s64 expected, s64 value,
			       s64 off)
{
	KUNIT_EXPECT_GE(test, value, expected - off);
	KUNIT_EXPECT_LE(test, value, expected + off);
}

#endif
