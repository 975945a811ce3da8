// SPDX-License-Identifier: GPL-2.0-only
/*
 * Losses compared with the model in kernel/tools/loss_table.py, and observed
 * with expected loss rates.
 */
#include <kunit/test.h>
#include "airtime.h"
#include "loss.h"

#define LEGACY(phy, kbps) { .format = (phy), .streams = 1, \
			    .width_mhz = 20, .legacy_kbps = (kbps) }
#define HE(index, nss) { .format = AIRSIM_HE, .mcs = (index), \
			 .streams = (nss), .width_mhz = 80, .gi_ns = 800 }
#define EHT(index, nss) { .format = AIRSIM_EHT, .mcs = (index), \
			  .streams = (nss), .width_mhz = 320, .gi_ns = 800 }
#define MILLION	1000000
#define FRAMES	200000

/* Every modulation. The expected losses are the model's, not from the table. */
static const struct {
	struct airsim_rate rate;
	s32 snr_mdb;
	u32 octets;
	u32 loss_ppb;
} loss_cases[] = {
	{ LEGACY(AIRSIM_CCK, 1000), -4300, 1500, 500554326 },
	{ LEGACY(AIRSIM_CCK, 2000), -350, 1500, 99296105 },
	{ LEGACY(AIRSIM_CCK, 5500), 130, 1500, 897074065 },
	{ LEGACY(AIRSIM_CCK, 11000), 5380, 1500, 9753475 },
	{ LEGACY(AIRSIM_OFDM, 6000), 5150, 1500, 984991 },
	{ LEGACY(AIRSIM_OFDM, 9000), 6490, 1500, 298147536 },
	{ LEGACY(AIRSIM_OFDM, 12000), 6440, 1500, 491082928 },
	{ LEGACY(AIRSIM_OFDM, 18000), 9870, 1500, 98278104 },
	{ LEGACY(AIRSIM_OFDM, 24000), 12530, 1500, 893827885 },
	{ LEGACY(AIRSIM_OFDM, 36000), 17310, 1500, 9998528 },
	{ LEGACY(AIRSIM_OFDM, 48000), 22700, 1500, 974654 },
	{ LEGACY(AIRSIM_OFDM, 54000), 22220, 1500, 295714336 },
	{ HE(0, 1), 2820, 14, 49538533 },
	{ HE(1, 1), 6440, 1500, 491082928 },
	{ HE(2, 1), 9870, 1500, 98278104 },
	{ HE(3, 1), 12530, 1500, 893827885 },
	{ HE(4, 1), 17310, 1500, 9998528 },
	{ HE(5, 1), 22700, 1500, 974654 },
	{ HE(6, 1), 22220, 1500, 295714336 },
	{ HE(7, 1), 23160, 1500, 491088115 },
	{ HE(8, 1), 28490, 1500, 99835801 },
	{ HE(9, 1), 28620, 1500, 894343458 },
	{ HE(10, 1), 35130, 1500, 9895195 },
	{ HE(11, 1), 37040, 1500, 972498 },
	{ HE(7, 2), 26810, 1536, 98247840 },
	{ HE(7, 3), 28570, 1536, 98509217 },
	{ HE(9, 4), 36380, 11454, 98602901 },
	{ HE(11, 4), 42390, 1536, 10065038 },
	{ EHT(11, 1), 37040, 1500, 972498 },
	{ EHT(12, 1), 40950, 1500, 11981988 },
	{ EHT(13, 1), 41500, 1500, 96954163 },
	{ EHT(13, 4), 48380, 1536, 7973610 },
};

static void loss_test(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(loss_cases); i++) {
		u64 expected = loss_cases[i].loss_ppb;
		u64 loss = airsim_snr_loss(&loss_cases[i].rate,
					   loss_cases[i].snr_mdb,
					   loss_cases[i].octets);

		loss = loss * 1000 * MILLION >> 32;
		KUNIT_EXPECT_GE_MSG(test, loss, expected * 98 / 100,
				    "case %d", i);
		KUNIT_EXPECT_LE_MSG(test, loss, expected * 102 / 100,
				    "case %d", i);
	}
}

/* Loss never increases with the SNR, and never decreases with the length. */
static void monotone_test(struct kunit *test)
{
	static const u32 octets[] = { 0, 1, 14, 100, 1500, 11454 };
	int i, j;
	s32 snr;

	for (i = 0; i < ARRAY_SIZE(loss_cases); i++) {
		const struct airsim_rate *rate = &loss_cases[i].rate;
		u32 before[ARRAY_SIZE(octets)];

		memset(before, 0xff, sizeof(before));
		for (snr = -30000; snr < 55000; snr += 99) {
			for (j = 0; j < ARRAY_SIZE(octets); j++) {
				u32 loss = airsim_snr_loss(rate, snr,
							   octets[j]);

				KUNIT_ASSERT_LE(test, loss, before[j]);
				before[j] = loss;
				if (j)
					KUNIT_ASSERT_GE(test, loss,
							before[j - 1]);
			}
		}
	}
}

/* Extreme SNRs and lengths. */
static void extremes_test(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(loss_cases); i++) {
		const struct airsim_rate *rate = &loss_cases[i].rate;

		KUNIT_EXPECT_EQ(test, U32_MAX,
				airsim_snr_loss(rate, S32_MIN, 14));
		KUNIT_EXPECT_EQ(test, U32_MAX,
				airsim_snr_loss(rate, S32_MIN, U32_MAX));
		KUNIT_EXPECT_EQ(test, 0, airsim_snr_loss(rate, S32_MIN, 0));
		KUNIT_EXPECT_EQ(test, 0, airsim_snr_loss(rate, S32_MAX, 11454));
	}
}

static void lost_test(struct kunit *test)
{
	const struct airsim_rate rate = LEGACY(AIRSIM_OFDM, 54000);
	u64 expected = (u64)airsim_snr_loss(&rate, 22220, 1500) * FRAMES >> 32;
	struct rnd_state rnd;
	u32 lost = 0;
	int i;

	prandom_seed_state(&rnd, 1);
	for (i = 0; i < FRAMES; i++)
		lost += airsim_snr_lost(&rate, 22220, 1500, &rnd);
	KUNIT_EXPECT_GE(test, lost, expected * 98 / 100);
	KUNIT_EXPECT_LE(test, lost, expected * 102 / 100);
}

static u32 sinr_loss_ppm(const struct airsim_rate *rate,
			 const struct airsim_section *sections,
			 unsigned int count)
{
	u64 loss = airsim_sinr_loss(rate, sections, count, 1000, 2000, 1500);

	return loss * MILLION >> 32;
}

/*
 * The probabilities that the octets of each section arrive multiply: of a loss
 * p of the whole frame, a share s of it has 1 - (1 - p)^s.
 */
static void sections_test(struct kunit *test)
{
	const struct airsim_rate rate = LEGACY(AIRSIM_OFDM, 54000);
	const struct airsim_section half[] = {
		{ .sinr_mdb = 60000 },
		{ .from_ns = 1500, .sinr_mdb = 22220 },
	};
	const struct airsim_section tenth[] = {
		{ .sinr_mdb = 60000 },
		{ .from_ns = 1200, .sinr_mdb = 22220 },
		{ .from_ns = 1300, .sinr_mdb = 60000 },
	};
	/* The frame begins in the second and ends in the third. */
	const struct airsim_section all[] = {
		{ .from_ns = 100, .sinr_mdb = 0 },
		{ .from_ns = 900, .sinr_mdb = 22220 },
		{ .from_ns = 1700, .sinr_mdb = 22220 },
		{ .from_ns = 2000, .sinr_mdb = 0 },
	};
	u32 loss = sinr_loss_ppm(&rate, half, 2);

	/* p = 0.295714 */
	KUNIT_EXPECT_GE(test, loss, 160783 * 98 / 100);
	KUNIT_EXPECT_LE(test, loss, 160783 * 102 / 100);
	loss = sinr_loss_ppm(&rate, tenth, 3);
	KUNIT_EXPECT_GE(test, loss, 34453 * 98 / 100);
	KUNIT_EXPECT_LE(test, loss, 34453 * 102 / 100);
	loss = airsim_snr_loss(&rate, 22220, 1500) * (u64)MILLION >> 32;
	KUNIT_EXPECT_EQ(test, loss, sinr_loss_ppm(&rate, all, 4));
	KUNIT_EXPECT_EQ(test, loss, sinr_loss_ppm(&rate, &all[1], 1));
}

static void chance_test(struct kunit *test)
{
	struct rnd_state rnd;
	u32 happened = 0;
	int i;

	prandom_seed_state(&rnd, 1);
	for (i = 0; i < FRAMES; i++) {
		KUNIT_ASSERT_FALSE(test, airsim_chance_ppm(&rnd, 0));
		KUNIT_ASSERT_TRUE(test, airsim_chance_ppm(&rnd, MILLION));
		happened += airsim_chance_ppm(&rnd, MILLION / 4);
	}
	KUNIT_EXPECT_GE(test, happened, FRAMES / 4 * 98 / 100);
	KUNIT_EXPECT_LE(test, happened, FRAMES / 4 * 102 / 100);
}

/*
 * The channel is bad for 2 / (2 + 8) of the frames, 1 / 8% = 12.5 frames at a
 * time. Of the frames in the bad state 3/4 are lost, in the good state 1/20:
 * 15% + 4% of all.
 */
static void burst_test(struct kunit *test)
{
	const struct airsim_burst burst = {
		.enter_ppm = 20000,
		.leave_ppm = 80000,
		.good_error_ppm = 50000,
		.bad_error_ppm = 750000,
	};
	u32 lost = 0, bad_frames = 0, bursts = 0;
	struct rnd_state rnd;
	bool bad = false;
	int i;

	prandom_seed_state(&rnd, 1);
	for (i = 0; i < FRAMES; i++) {
		bool was_bad = bad;

		lost += airsim_burst_lost(&burst, &bad, &rnd);
		bad_frames += bad;
		bursts += bad && !was_bad;
	}
	KUNIT_EXPECT_GE(test, lost, FRAMES * 19 / 100 * 95 / 100);
	KUNIT_EXPECT_LE(test, lost, FRAMES * 19 / 100 * 105 / 100);
	KUNIT_EXPECT_GE(test, bad_frames, FRAMES / 5 * 95 / 100);
	KUNIT_EXPECT_LE(test, bad_frames, FRAMES / 5 * 105 / 100);
	KUNIT_EXPECT_GE(test, bad_frames, bursts * 25 / 2 * 95 / 100);
	KUNIT_EXPECT_LE(test, bad_frames, bursts * 25 / 2 * 105 / 100);
}

/*
 * The state changes before the frame: the first frame is sent in the bad state.
 */
static void burst_moves_first_test(struct kunit *test)
{
	const struct airsim_burst burst = {
		.enter_ppm = MILLION,
		.leave_ppm = MILLION,
		.bad_error_ppm = MILLION,
	};
	struct rnd_state rnd;
	bool bad = false;
	int i;

	prandom_seed_state(&rnd, 1);
	for (i = 0; i < 10; i++) {
		KUNIT_EXPECT_EQ(test, i % 2 == 0,
				airsim_burst_lost(&burst, &bad, &rnd));
		KUNIT_EXPECT_EQ(test, i % 2 == 0, bad);
	}
}

static u64 goodput(const struct airsim_rate *rate, s32 snr_mdb)
{
	u64 received = U32_MAX - airsim_snr_loss(rate, snr_mdb, 1538);

	return received * airsim_bits_per_symbol(rate);
}

/* The known best rates at some ratios, from the losses in loss_cases. */
static void best_rate_test(struct kunit *test)
{
	static const struct {
		struct airsim_rate rate;
		u8 streams;
		s32 snr_mdb;
		struct airsim_rate best;
	} cases[] = {
		{ HE(0, 1), 2, S32_MAX, HE(11, 2) },
		{ EHT(0, 1), 4, S32_MAX, EHT(13, 4) },
		{ HE(11, 4), 4, -100000, HE(0, 1) },
		{ HE(0, 1), 1, 17310, HE(4, 1) },
		{ HE(0, 1), 1, 37040, HE(11, 1) },
		{ HE(0, 1), 4, 42390, HE(11, 4) },
		{ LEGACY(AIRSIM_OFDM, 6000), 1, S32_MAX,
		  LEGACY(AIRSIM_OFDM, 54000) },
		{ LEGACY(AIRSIM_OFDM, 54000), 1, 17310,
		  LEGACY(AIRSIM_OFDM, 36000) },
		{ LEGACY(AIRSIM_OFDM, 54000), 1, -100000,
		  LEGACY(AIRSIM_OFDM, 6000) },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct airsim_rate rate = cases[i].rate;

		airsim_best_rate(&rate, cases[i].streams, cases[i].snr_mdb);
		KUNIT_EXPECT_MEMEQ_MSG(test, &rate, &cases[i].best,
				       sizeof(rate), "case %d", i);
	}
}

/* No rate delivers more; of equal ones, the first has the fewest streams. */
static void best_of_all_rates_test(struct kunit *test)
{
	struct airsim_rate best = { .format = AIRSIM_VHT, .width_mhz = 20,
				    .streams = 1, .gi_ns = 400 };
	struct airsim_rate rate = best;
	s32 snr_mdb;

	for (snr_mdb = -5000; snr_mdb <= 60000; snr_mdb += 97) {
		bool passed = false;
		u64 most;

		airsim_best_rate(&best, 3, snr_mdb);
		KUNIT_ASSERT_TRUE(test, airsim_rate_valid(&best));
		most = goodput(&best, snr_mdb);
		for (rate.streams = 1; rate.streams <= 3; rate.streams++) {
			for (rate.mcs = 0; rate.mcs <= 9; rate.mcs++) {
				if (!airsim_rate_valid(&rate))
					continue;
				passed |= !memcmp(&rate, &best, sizeof(rate));
				if (passed)
					KUNIT_EXPECT_LE(test,
							goodput(&rate, snr_mdb),
							most);
				else
					KUNIT_EXPECT_LT(test,
							goodput(&rate, snr_mdb),
							most);
			}
		}
	}
}

static struct kunit_case loss_test_cases[] = {
	KUNIT_CASE(loss_test),
	KUNIT_CASE(monotone_test),
	KUNIT_CASE(extremes_test),
	KUNIT_CASE(lost_test),
	KUNIT_CASE(sections_test),
	KUNIT_CASE(best_rate_test),
	KUNIT_CASE(best_of_all_rates_test),
	KUNIT_CASE(chance_test),
	KUNIT_CASE(burst_test),
	KUNIT_CASE(burst_moves_first_test),
	{}
};

static struct kunit_suite loss_suite = {
	.name = "airsim_loss",
	.test_cases = loss_test_cases,
};

kunit_test_suite(loss_suite);
