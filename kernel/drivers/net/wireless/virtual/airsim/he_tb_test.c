// SPDX-License-Identifier: GPL-2.0-only
/*
 * UL OFDMA compared with values calculated by hand from IEEE 802.11ax-2021.
 *
 * Preamble of an HE TB PPDU: L-STF 8 us, L-LTF 8, L-SIG 4, RL-SIG 4, HE-SIG-A 8,
 * HE-STF 8, which is 40 us, and the HE-LTFs: 8 us each with a guard interval of
 * 1.6 us (2x), 16 us with 3.2 us (4x). Symbols take 14.4 and 16 us. Data bits per
 * symbol: N_SD of the RU * coded bits * coding rate * streams. Data symbols: 16
 * service bits and the PSDU divided by these, rounded up.
 */
#include <kunit/test.h>
#include "he_tb.h"

#define TB(tones, index, nss, fields, gi) { \
	.format = AIRSIM_HE, .mcs = (index), .streams = (nss), \
	.width_mhz = 80, .gi_ns = (gi), .ru_tones = (tones), .ltfs = (fields) }

#define NO_LIMIT	5484000

static void bits_test(struct kunit *test)
{
	static const struct {
		struct airsim_rate rate;
		u32 bits;
	} cases[] = {
		/* 24 / 2, 48 * 2 * 3/4, 102 * 4 / 2, 102 * 8 * 5/6 */
		{ TB(26, 0, 1, 1, 1600), 12 },
		{ TB(52, 2, 1, 1, 1600), 72 },
		{ TB(106, 3, 1, 1, 1600), 204 },
		{ TB(106, 9, 1, 1, 1600), 680 },
		/* 234 * 10 * 5/6, 468 * 6 * 5/6 * 2, 980 * 8 * 5/6, 1960 * 2 */
		{ TB(242, 11, 1, 1, 1600), 1950 },
		{ TB(484, 7, 2, 2, 1600), 4680 },
		{ TB(996, 9, 1, 1, 3200), 6533 },
		{ TB(1992, 1, 2, 2, 3200), 3920 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		KUNIT_EXPECT_TRUE_MSG(test, airsim_rate_valid(&cases[i].rate),
				      "case %d", i);
		KUNIT_EXPECT_EQ_MSG(test, cases[i].bits,
				    airsim_bits_per_symbol(&cases[i].rate),
				    "case %d", i);
	}
}

/* Each is preamble + data. */
static void duration_test(struct kunit *test)
{
	static const struct {
		struct airsim_rate rate;
		u32 octets;
		u32 ns;
	} cases[] = {
		/* QoS Null: 16 + 304 bits of 12: 27 symbols. */
		{ TB(26, 0, 1, 1, 1600), 38, 48000 + 27 * 14400 },
		/* 16 + 304 bits of 120: 3. */
		{ TB(26, 7, 1, 1, 1600), 38, 48000 + 3 * 14400 },
		/* 16 + 800 bits of 72: 12. 56 = 40 + 2 * 8, for another. */
		{ TB(52, 2, 1, 2, 1600), 100, 56000 + 12 * 14400 },
		/* 16 + 8144 = 12 * 680; one octet more needs another. */
		{ TB(106, 9, 1, 1, 1600), 1018, 48000 + 12 * 14400 },
		{ TB(106, 9, 1, 1, 1600), 1019, 48000 + 13 * 14400 },
		/* 16 + 123392 bits of 1950: 64. */
		{ TB(242, 11, 1, 1, 1600), 15424, 48000 + 64 * 14400 },
		/* 16 + 394752 bits of 4680: 85. */
		{ TB(484, 7, 2, 2, 1600), 49344, 56000 + 85 * 14400 },
		/* 16 + 12336 bits of 6533: 2. Four fields of 16. */
		{ TB(996, 9, 1, 4, 3200), 1542, 104000 + 2 * 16000 },
		/* 16 + 12336 bits of 3920: 4. */
		{ TB(1992, 1, 2, 2, 3200), 1542, 72000 + 4 * 16000 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		KUNIT_EXPECT_EQ_MSG(test, cases[i].ns,
				    airsim_tb_ns(&cases[i].rate,
						 cases[i].octets, NO_LIMIT),
				    "case %d", i);
}

/* Whole symbols within the limit, however much there is to send. */
static void limit_test(struct kunit *test)
{
	static const struct airsim_rate slow = TB(26, 0, 1, 1, 1600);
	static const struct airsim_rate fast = TB(996, 11, 1, 1, 1600);
	struct airsim_rate extended = slow;

	/* (5484 - 48) / 14.4 = 377.5 */
	KUNIT_EXPECT_EQ(test, 48000 + 377 * 14400,
			airsim_tb_ns(&slow, 1048575, 5484000));
	KUNIT_EXPECT_EQ(test, 48000 + 377 * 14400,
			airsim_tb_ns(&fast, 1048575, 5484000));
	/* (1000 - 48) / 14.4 = 66.1 */
	KUNIT_EXPECT_EQ(test, 48000 + 66 * 14400,
			airsim_tb_ns(&fast, 1048575, 1000000));
	KUNIT_EXPECT_EQ(test, 48000, airsim_tb_ns(&slow, 100, 40000));
	/* (1000 - 48 - 16) / 14.4 = 65 */
	extended.extension_ns = 16000;
	KUNIT_EXPECT_EQ(test, 48000 + 65 * 14400 + 16000,
			airsim_tb_ns(&extended, 1048575, 1000000));
	KUNIT_EXPECT_EQ(test, 48000 + 64 * 14400 + 16000,
			airsim_tb_ns(&extended, 1048575, 999999));
}

static void extension_test(struct kunit *test)
{
	struct airsim_rate rate = TB(26, 7, 1, 1, 1600);

	rate.extension_ns = 6000;
	KUNIT_EXPECT_EQ(test, 48000 + 3 * 14400 + 6000,
			airsim_tb_ns(&rate, 38, NO_LIMIT));
	/* (97.2 - 6 - 20) / 4 = 17.8: 18 * 3 - 5 */
	KUNIT_EXPECT_EQ(test, 49, airsim_ul_length(&rate, 97200));
}

/* 27-11: ceil((TXTIME - 20) / 4) * 3 - 3 - 2. */
static void length_test(struct kunit *test)
{
	static const struct airsim_rate rate = TB(242, 7, 1, 1, 1600);

	/* (91.2 - 20) / 4 = 17.8 */
	KUNIT_EXPECT_EQ(test, 49, airsim_ul_length(&rate, 91200));
	/* (5476.8 - 20) / 4 = 1364.2: it fits into 12 bits. */
	KUNIT_EXPECT_EQ(test, 4090, airsim_ul_length(&rate, 5476800));
}

static void ru_test(struct kunit *test)
{
	static const struct {
		u16 width_mhz;
		unsigned int stations;
		u16 tones;
	} cases[] = {
		{ 20, 1, 242 }, { 20, 2, 106 }, { 20, 3, 52 }, { 20, 4, 52 },
		{ 20, 5, 26 }, { 20, 9, 26 },
		{ 40, 1, 484 }, { 40, 2, 242 }, { 40, 4, 106 }, { 40, 8, 52 },
		{ 40, 18, 26 },
		{ 80, 1, 996 }, { 80, 2, 484 }, { 80, 3, 242 }, { 80, 8, 106 },
		{ 80, 16, 52 }, { 80, 37, 26 },
		{ 160, 1, 1992 }, { 160, 2, 996 }, { 160, 8, 242 },
		{ 160, 9, 106 }, { 160, 32, 52 }, { 160, 74, 26 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		KUNIT_EXPECT_EQ_MSG(test, cases[i].tones,
				    airsim_ru_tones(cases[i].width_mhz,
						    cases[i].stations),
				    "case %d", i);
}

/* Tables 27-7 to 27-9; at 160 MHz twice the RUs of 80 MHz. */
static void ru_count_test(struct kunit *test)
{
	static const u16 widths_mhz[] = { 20, 40, 80, 160 };
	static const struct {
		u16 tones;
		u16 mhz;
		unsigned int counts[4];
	} rus[] = {
		{ 26, 2, { 9, 18, 37, 74 } },
		{ 52, 4, { 4, 8, 16, 32 } },
		{ 106, 8, { 2, 4, 8, 16 } },
		{ 242, 20, { 1, 2, 4, 8 } },
		{ 484, 40, { 0, 1, 2, 4 } },
		{ 996, 80, { 0, 0, 1, 2 } },
		{ 1992, 160, { 0, 0, 0, 1 } },
	};
	int i, j;

	for (i = 0; i < ARRAY_SIZE(rus); i++) {
		KUNIT_EXPECT_EQ_MSG(test, rus[i].mhz,
				    airsim_ru_mhz(rus[i].tones),
				    "%u tones", rus[i].tones);
		for (j = 0; j < ARRAY_SIZE(widths_mhz); j++)
			KUNIT_EXPECT_EQ_MSG(test, rus[i].counts[j],
					    airsim_ru_count(widths_mhz[j],
							    rus[i].tones),
					    "%u tones at %u MHz", rus[i].tones,
					    widths_mhz[j]);
	}
}

/* B0: the secondary 80 MHz. The others: tables 9-29i and 9-29j. */
static void allocation_test(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 8 << 1, airsim_ru_allocation(26, 8));
	KUNIT_EXPECT_EQ(test, 38 << 1, airsim_ru_allocation(52, 1));
	KUNIT_EXPECT_EQ(test, 60 << 1, airsim_ru_allocation(106, 7));
	KUNIT_EXPECT_EQ(test, 64 << 1 | 1, airsim_ru_allocation(242, 7));
	KUNIT_EXPECT_EQ(test, 66 << 1, airsim_ru_allocation(484, 1));
	KUNIT_EXPECT_EQ(test, 67 << 1 | 1, airsim_ru_allocation(996, 1));
	KUNIT_EXPECT_EQ(test, 68 << 1 | 1, airsim_ru_allocation(1992, 0));
	KUNIT_EXPECT_EQ(test, 36 << 1 | 1, airsim_ru_allocation(26, 73));
}

/* Lengths, and durations at 24 Mbit/s: 96 bits per symbol. */
static void control_test(struct kunit *test)
{
	static const struct airsim_rate rate = {
		.format = AIRSIM_OFDM, .streams = 1, .width_mhz = 20,
		.legacy_kbps = 24000,
	};

	/* 2 + 2 + 6 + 6 + 8 + 4 (5 + 1) + 4: 16 + 416 + 6 bits. */
	KUNIT_EXPECT_EQ(test, 52, airsim_trigger_octets(true, 4));
	KUNIT_EXPECT_EQ(test, 20000 + 5 * 4000, airsim_ppdu_ns(&rate, 52));
	/* BSRP: 2 + 2 + 6 + 6 + 8 + 8 * 5 + 4: 16 + 544 + 6 bits. */
	KUNIT_EXPECT_EQ(test, 68, airsim_trigger_octets(false, 8));
	KUNIT_EXPECT_EQ(test, 20000 + 6 * 4000, airsim_ppdu_ns(&rate, 68));
	/*
	 * 2 + 2 + 6 + 6 + 2 + 2 (2 + 2 + 8) + (2 + 2 + 32) + 2 + 4: two
	 * bitmaps of 64 bits, one of 256, an Ack: 16 + 672 + 6 bits.
	 */
	KUNIT_EXPECT_EQ(test, 84,
			airsim_multi_blockack_octets(4, 2 * 10 + 34));
	KUNIT_EXPECT_EQ(test, 20000 + 8 * 4000, airsim_ppdu_ns(&rate, 84));
}

static struct kunit_case airsim_he_tb_cases[] = {
	KUNIT_CASE(bits_test),
	KUNIT_CASE(duration_test),
	KUNIT_CASE(limit_test),
	KUNIT_CASE(extension_test),
	KUNIT_CASE(length_test),
	KUNIT_CASE(ru_test),
	KUNIT_CASE(ru_count_test),
	KUNIT_CASE(allocation_test),
	KUNIT_CASE(control_test),
	{}
};

static struct kunit_suite airsim_he_tb_suite = {
	.name = "airsim_he_tb",
	.test_cases = airsim_he_tb_cases,
};

kunit_test_suite(airsim_he_tb_suite);
