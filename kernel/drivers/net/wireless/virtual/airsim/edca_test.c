// SPDX-License-Identifier: GPL-2.0-only
/* EDCA functions and the slot boundaries of IEEE 802.11-2020, 10.23.2.4. */
#include <kunit/test.h>
#include "edca.h"

#define US	1000ULL
/* SIFS and three slots. */
#define AIFS	(43 * US)
#define SLOT	(9 * US)
#define IDLE	(1000 * US)

static const struct airsim_phy *phy = &airsim_phy_5ghz;
static struct rnd_state rnd;

static struct airsim_edca best_effort(u16 backoff)
{
	struct airsim_edca edca = {};

	prandom_seed_state(&rnd, 1);
	airsim_edca_configure(&edca, 3, 15, 63);
	edca.backoff = backoff;
	return edca;
}

static void access_test(struct kunit *test)
{
	struct airsim_edca edca = best_effort(0);

	KUNIT_EXPECT_EQ(test, IDLE + AIFS,
			airsim_edca_access_ns(&edca, phy, IDLE));
	edca.backoff = 7;
	KUNIT_EXPECT_EQ(test, IDLE + AIFS + 7 * SLOT,
			airsim_edca_access_ns(&edca, phy, IDLE));
}

static void idle_medium_is_used_at_once_test(struct kunit *test)
{
	struct airsim_edca edca = best_effort(5);

	airsim_edca_request(&edca, 5000 * US, false, &rnd);
	KUNIT_EXPECT_EQ(test, 5000 * US,
			airsim_edca_access_ns(&edca, phy, IDLE));
}

static void busy_medium_starts_a_backoff_test(struct kunit *test)
{
	bool drew = false;
	int i;

	for (i = 0; i < 20; i++) {
		struct airsim_edca edca = best_effort(0);

		prandom_seed_state(&rnd, i);
		airsim_edca_request(&edca, 0, true, &rnd);
		drew |= edca.backoff;
	}
	KUNIT_EXPECT_TRUE(test, drew);
}

/* One decrement per boundary, including the one at which another transmits. */
static void freeze_test(struct kunit *test)
{
	struct airsim_edca edca = best_effort(10);

	airsim_edca_freeze(&edca, phy, IDLE, IDLE + AIFS - 1);
	KUNIT_EXPECT_EQ(test, 10, edca.backoff);
	airsim_edca_freeze(&edca, phy, IDLE, IDLE + AIFS);
	KUNIT_EXPECT_EQ(test, 9, edca.backoff);
	airsim_edca_freeze(&edca, phy, IDLE, IDLE + AIFS + 2 * SLOT);
	KUNIT_EXPECT_EQ(test, 6, edca.backoff);
	airsim_edca_freeze(&edca, phy, IDLE, 9000 * US);
	KUNIT_EXPECT_EQ(test, 0, edca.backoff);
}

static void window_test(struct kunit *test)
{
	struct airsim_edca edca = best_effort(0);

	airsim_edca_failed(&edca, 7, &rnd);
	KUNIT_EXPECT_EQ(test, 31, edca.cw);
	airsim_edca_failed(&edca, 7, &rnd);
	airsim_edca_failed(&edca, 7, &rnd);
	KUNIT_EXPECT_EQ(test, 63, edca.cw);
	airsim_edca_succeeded(&edca, &rnd);
	KUNIT_EXPECT_EQ(test, 15, edca.cw);
	/* QSRC reaches the limit with the second failure. */
	airsim_edca_failed(&edca, 2, &rnd);
	airsim_edca_failed(&edca, 2, &rnd);
	KUNIT_EXPECT_EQ(test, 63, edca.cw);
	airsim_edca_failed(&edca, 2, &rnd);
	KUNIT_EXPECT_EQ(test, 15, edca.cw);
	airsim_edca_failed(&edca, 7, &rnd);
	edca.backoff = 0;
	airsim_edca_reset(&edca);
	KUNIT_EXPECT_EQ(test, 0, edca.backoff);
	airsim_edca_failed(&edca, 2, &rnd);
	KUNIT_EXPECT_EQ(test, 31, edca.cw);
}

/* All backoffs from 0 to the window occur, and none beyond. */
static void draw_test(struct kunit *test)
{
	struct airsim_edca edca = best_effort(0);
	u32 seen = 0;
	int i;

	for (i = 0; i < 1000; i++) {
		airsim_edca_draw(&edca, &rnd);
		KUNIT_ASSERT_LE(test, edca.backoff, 15);
		seen |= 1 << edca.backoff;
	}
	KUNIT_EXPECT_EQ(test, 0xffff, seen);
}

static struct kunit_case edca_cases[] = {
	KUNIT_CASE(access_test),
	KUNIT_CASE(idle_medium_is_used_at_once_test),
	KUNIT_CASE(busy_medium_starts_a_backoff_test),
	KUNIT_CASE(freeze_test),
	KUNIT_CASE(window_test),
	KUNIT_CASE(draw_test),
	{}
};

static struct kunit_suite edca_suite = {
	.name = "airsim_edca",
	.test_cases = edca_cases,
};

kunit_test_suite(edca_suite);
