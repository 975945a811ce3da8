// SPDX-License-Identifier: GPL-2.0-only
/* Durations against values worked out by hand from IEEE 802.11-2020. */
#include <kunit/test.h>
#include "airtime.h"

#define HT(index, wide, guard) { .format = AIRSIM_HT, .mcs = (index), \
				 .ht40 = (wide), .short_gi = (guard) }
#define LEGACY(kbps) { .format = AIRSIM_LEGACY, .legacy_kbps = (kbps) }

/* Tables 19-27 to 19-34: Mbit/s = data bits a symbol / symbol time. */
static void bits_per_symbol_test(struct kunit *test)
{
	static const struct {
		struct airsim_rate rate;
		u32 bits;
	} cases[] = {
		{ HT(0, false, false), 26 },
		{ HT(7, false, false), 260 },
		{ HT(13, true, true), 864 },
		{ HT(15, true, false), 1080 },
		{ HT(31, true, true), 2160 },
		{ LEGACY(6000), 24 },
		{ LEGACY(54000), 216 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		KUNIT_EXPECT_EQ(test, cases[i].bits,
				airsim_bits_per_symbol(&cases[i].rate));
}

static void ppdu_test(struct kunit *test)
{
	static const struct {
		struct airsim_rate rate;
		u32 octets;
		u32 us;
	} cases[] = {
		/* 16 + 112 + 6 bits are 2 symbols at 24, 6 at 6 Mbit/s. */
		{ LEGACY(24000), AIRSIM_ACK_OCTETS, 20 + 2 * 4 },
		{ LEGACY(6000), AIRSIM_ACK_OCTETS, 20 + 6 * 4 },
		{ LEGACY(24000), AIRSIM_BLOCKACK_OCTETS, 20 + 3 * 4 },
		{ LEGACY(54000), 1536, 20 + 57 * 4 },
		/* 42 subframes of 1544: 601 symbols of 3.6 us, in fours. */
		{ HT(13, true, true), 42 * 1544, 40 + 2164 },
		{ HT(7, false, false), 1536, 36 + 48 * 4 },
		/* Two encoders, hence 12 tail bits: 16 + 2132 + 12 = 2160. */
		{ HT(31, true, false), 266, 48 + 4 },
		{ HT(31, true, false), 267, 48 + 2 * 4 },
		/* Three streams train with four fields. */
		{ HT(16, false, false), 1, 48 + 4 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		KUNIT_EXPECT_EQ(test, cases[i].us * 1000,
				airsim_ppdu_ns(&cases[i].rate,
					       cases[i].octets));
}

static void subframe_test(struct kunit *test)
{
	const struct airsim_rate rate = HT(13, true, true);

	KUNIT_EXPECT_EQ(test, 1544, airsim_subframe_octets(1538));
	KUNIT_EXPECT_EQ(test, 1540, airsim_subframe_octets(1536));
	/* 8 us at 240 Mbit/s. */
	KUNIT_EXPECT_EQ(test, 240, airsim_spacing_octets(&rate, 6));
	KUNIT_EXPECT_EQ(test, 0, airsim_spacing_octets(&rate, 0));
}

/* An octet has arrived when its symbol ends, and the last ones by the end. */
static void payload_test(struct kunit *test)
{
	const struct airsim_rate rate = HT(13, true, true);

	KUNIT_EXPECT_EQ(test, 3600, airsim_payload_ns(&rate, 106));
	KUNIT_EXPECT_EQ(test, 7200, airsim_payload_ns(&rate, 107));
	KUNIT_EXPECT_LE(test, airsim_preamble_ns(&rate) +
			airsim_payload_ns(&rate, 42 * 1544),
			airsim_ppdu_ns(&rate, 42 * 1544));
}

static void response_test(struct kunit *test)
{
	static const struct {
		struct airsim_rate rate;
		u16 kbps;
	} cases[] = {
		{ HT(0, false, false), 6000 },
		{ HT(10, false, false), 12000 },
		{ HT(11, true, true), 24000 },
		{ HT(13, true, true), 24000 },
		{ LEGACY(9000), 6000 },
		{ LEGACY(18000), 12000 },
		{ LEGACY(54000), 24000 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		KUNIT_EXPECT_EQ(test, cases[i].kbps,
				airsim_response_kbps(&cases[i].rate));
}

static struct kunit_case airtime_cases[] = {
	KUNIT_CASE(bits_per_symbol_test),
	KUNIT_CASE(ppdu_test),
	KUNIT_CASE(subframe_test),
	KUNIT_CASE(payload_test),
	KUNIT_CASE(response_test),
	{}
};

static struct kunit_suite airtime_suite = {
	.name = "airsim_airtime",
	.test_cases = airtime_cases,
};

kunit_test_suite(airtime_suite);
