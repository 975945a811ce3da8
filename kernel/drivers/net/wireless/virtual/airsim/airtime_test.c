// SPDX-License-Identifier: GPL-2.0-only
/*
 * Durations compared with values calculated by hand from IEEE 802.11-2020,
 * 802.11ax-2021 and 802.11be-2024. Data bits per symbol: data subcarriers *
 * coded bits per subcarrier * coding rate * streams. Data symbols: 16 service
 * bits, the PSDU and the tail bits divided by the data bits per symbol, rounded
 * up. In sums such as 16 + 2132 + 12 the middle term is what is left for the
 * PSDU.
 */
#include <kunit/test.h>
#include "airtime.h"

#define LEGACY(fmt, kbps, ext) { .format = (fmt), .streams = 1, \
				 .width_mhz = 20, .legacy_kbps = (kbps), \
				 .extension_ns = (ext) }
#define CCK(kbps)	LEGACY(AIRSIM_CCK, kbps, 0)
#define OFDM(kbps)	LEGACY(AIRSIM_OFDM, kbps, 0)
#define ERP_OFDM(kbps)	LEGACY(AIRSIM_OFDM, kbps, 6000)
#define MCS(fmt, index, nss, width, gi) { .format = (fmt), .mcs = (index), \
					  .streams = (nss), \
					  .width_mhz = (width), .gi_ns = (gi) }
#define HT(index, nss, width, gi)	MCS(AIRSIM_HT, index, nss, width, gi)
#define VHT(index, nss, width, gi)	MCS(AIRSIM_VHT, index, nss, width, gi)
#define HE(index, nss, width, gi)	MCS(AIRSIM_HE, index, nss, width, gi)
#define EHT(index, nss, width, gi)	MCS(AIRSIM_EHT, index, nss, width, gi)

/* Bits of airsim_legacy_kbps. */
#define BASIC_1_2	0x003
#define BASIC_6_12_24	0x150
#define BASIC_24	0x100
#define BASIC_54	0x800

/* Mbit/s = data bits per symbol / symbol duration. */
static void rate_test(struct kunit *test)
{
	static const struct {
		struct airsim_rate rate;
		u32 bits;
		u32 kbps;
	} cases[] = {
		{ CCK(5500), 22, 5500 },
		{ OFDM(6000), 24, 6000 },
		{ OFDM(54000), 216, 54000 },
		/* 52 / 2, 52 * 6 * 5/6, 108 * 6 * 2/3 * 2 */
		{ HT(0, 1, 20, 800), 26, 6500 },
		{ HT(7, 1, 20, 400), 260, 72222 },
		{ HT(5, 2, 40, 400), 864, 240000 },
		{ HT(7, 4, 40, 400), 2160, 600000 },
		/* 52 * 8 * 5/6 * 3, 234 * 8 * 5/6 * 2, 468 * 8 * 5/6 * 4 */
		{ VHT(9, 3, 20, 800), 1040, 260000 },
		{ VHT(9, 2, 80, 800), 3120, 780000 },
		{ VHT(9, 2, 80, 400), 3120, 866666 },
		{ VHT(9, 4, 160, 400), 12480, 3466666 },
		/* 234 / 2, 234 * 10 * 5/6 */
		{ HE(0, 1, 20, 3200), 117, 7312 },
		{ HE(11, 1, 20, 800), 1950, 143382 },
		/* 980 * 8 * 5/6 = 6533.3, 1960 * 10 * 5/6 * 4 = 65333.3 */
		{ HE(9, 1, 80, 1600), 6533, 453680 },
		{ HE(11, 4, 160, 800), 65333, 4803897 },
		/* 234 * 12 * 5/6, 3920 / 2, 3920 * 12 * 5/6 * 4 */
		{ EHT(13, 1, 20, 800), 2340, 172058 },
		{ EHT(0, 1, 320, 3200), 1960, 122500 },
		{ EHT(13, 4, 320, 800), 156800, 11529411 },
		/* 980 * 12 * 3/4; 3920 * 10 * 5/6 * 2 = 65333.3 */
		{ EHT(12, 1, 80, 1600), 8820, 612500 },
		{ EHT(11, 2, 320, 800), 65333, 4803897 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct airsim_rate *rate = &cases[i].rate;

		KUNIT_EXPECT_TRUE_MSG(test, airsim_rate_valid(rate),
				      "case %d", i);
		KUNIT_EXPECT_EQ_MSG(test, cases[i].bits,
				    airsim_bits_per_symbol(rate), "case %d", i);
		KUNIT_EXPECT_EQ_MSG(test, cases[i].kbps,
				    airsim_rate_kbps(rate), "case %d", i);
	}
}

static void invalid_test(struct kunit *test)
{
	static const struct airsim_rate rates[] = {
		CCK(6000),
		OFDM(11000),
		OFDM(0),
		LEGACY(AIRSIM_CCK, 1000, 6000),
		LEGACY(AIRSIM_OFDM, 6000, 1),
		{ .format = AIRSIM_OFDM, .streams = 2, .width_mhz = 20,
		  .legacy_kbps = 6000 },
		{ .format = AIRSIM_OFDM, .streams = 1, .width_mhz = 40,
		  .legacy_kbps = 6000 },
		HT(8, 1, 20, 800),
		HT(0, 0, 20, 800),
		HT(0, 5, 20, 800),
		HT(0, 1, 80, 800),
		HT(0, 1, 20, 1600),
		VHT(10, 1, 80, 800),
		VHT(9, 1, 20, 800),
		VHT(9, 2, 20, 800),
		VHT(9, 4, 20, 800),
		VHT(6, 3, 80, 800),
		VHT(9, 3, 160, 400),
		HE(12, 1, 80, 800),
		HE(0, 1, 80, 400),
		HE(0, 1, 30, 800),
		HE(0, 1, 320, 800),
		EHT(14, 1, 80, 800),
		EHT(0, 1, 80, 400),
		EHT(0, 1, 240, 800),
		EHT(0, 5, 80, 800),
		MCS(AIRSIM_EHT + 1, 0, 1, 20, 800),
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(rates); i++)
		KUNIT_EXPECT_FALSE_MSG(test, airsim_rate_valid(&rates[i]),
				       "case %d", i);
}

/* Each is preamble + data. */
static void ppdu_test(struct kunit *test)
{
	static const struct {
		struct airsim_rate rate;
		u32 octets;
		u32 ns;
	} cases[] = {
		/* 112 bits at 1 Mbit/s; 12000 at 11 Mbit/s: 1090.9 us. */
		{ CCK(1000), AIRSIM_ACK_OCTETS, 192000 + 112000 },
		{ CCK(11000), 1500, 192000 + 1091000 },
		/* 16 + 112 + 6 bits are 2 symbols at 24, 6 at 6 Mbit/s. */
		{ OFDM(24000), AIRSIM_ACK_OCTETS, 20000 + 2 * 4000 },
		{ OFDM(6000), AIRSIM_ACK_OCTETS, 20000 + 6 * 4000 },
		{ ERP_OFDM(6000), AIRSIM_ACK_OCTETS, 20000 + 24000 + 6000 },
		/* 16 + 12288 + 6 bits of 216. */
		{ OFDM(54000), 1536, 20000 + 57 * 4000 },
		/* 16 + 12288 + 6 bits of 260. */
		{ HT(7, 1, 20, 800), 1536, 36000 + 48 * 4000 },
		/* 42 subframes of 1544: 601 symbols of 3.6 us, in fours. */
		{ HT(5, 2, 40, 400), 42 * 1544, 40000 + 2164000 },
		/* Two encoders, hence 12 tail bits: 16 + 2132 + 12 = 2160. */
		{ HT(7, 4, 40, 800), 266, 48000 + 4000 },
		{ HT(7, 4, 40, 800), 267, 48000 + 2 * 4000 },
		/* Three streams use four training fields. */
		{ HT(0, 3, 20, 800), 1, 48000 + 4000 },
		/* 16 + 12336 + 6 bits of 1560: 8 symbols of 3.6 us, in fours. */
		{ VHT(9, 1, 80, 400), 1542, 40000 + 32000 },
		/* One encoder still: 16 + 2138 + 6 = 2160. */
		{ VHT(9, 3, 40, 800), 267, 52000 + 4000 },
		{ VHT(9, 3, 40, 800), 268, 52000 + 2 * 4000 },
		/* Three encoders: 16 + 4646 + 18 = 4680. */
		{ VHT(9, 3, 80, 800), 580, 52000 + 4000 },
		{ VHT(9, 3, 80, 800), 581, 52000 + 2 * 4000 },
		/* Six encoders, not five: 16 + 9308 + 36 = 9360. */
		{ VHT(7, 4, 160, 800), 1163, 52000 + 4000 },
		{ VHT(7, 4, 160, 800), 1164, 52000 + 2 * 4000 },
		/* No tail: 16 + 1544 = 1560. 43.2 = 36 + 7.2. */
		{ HE(9, 1, 20, 800), 193, 43200 + 13600 },
		{ HE(9, 1, 20, 800), 194, 43200 + 2 * 13600 },
		/* 16 + 12336 bits of 117. 52 = 36 + 2 * 8. */
		{ HE(0, 2, 20, 1600), 1542, 52000 + 53 * 14400 },
		/* Four fields of 16. */
		{ HE(0, 3, 20, 3200), 1, 100000 + 16000 },
		/* 1048575 octets: 8388616 bits of 117. */
		{ HE(0, 1, 20, 3200), 1048575, 52000 + 71698U * 16000 },
		/* U-SIG, two symbols of EHT-SIG: 44 + 7.2. 16 + 2324 = 2340. */
		{ EHT(13, 1, 20, 800), 290, 51200 + 13600 },
		{ EHT(13, 1, 20, 800), 291, 51200 + 2 * 13600 },
		/* 44 + 2 * 8; 44 + 4 * 16. */
		{ EHT(0, 2, 80, 1600), 1, 60000 + 14400 },
		{ EHT(0, 3, 320, 3200), 1, 108000 + 16000 },
		/* 1024 MPDUs of 1538: 12648432 + 16 bits of 156800. */
		{ EHT(13, 4, 320, 800), 1023 * 1544 + 1542,
		  72800 + 81 * 13600 },
		/* The longest PSDU: 124185600 + 16 bits. */
		{ EHT(13, 4, 320, 800), AIRSIM_EHT_PSDU_OCTETS,
		  72800 + 793 * 13600 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		KUNIT_EXPECT_EQ_MSG(test, cases[i].ns,
				    airsim_ppdu_ns(&cases[i].rate,
						   cases[i].octets),
				    "case %d", i);
}

static void subframe_test(struct kunit *test)
{
	static const struct airsim_rate ht = HT(5, 2, 40, 400);
	static const struct airsim_rate he = HE(11, 4, 160, 800);

	KUNIT_EXPECT_EQ(test, 1544, airsim_subframe_octets(1538));
	KUNIT_EXPECT_EQ(test, 1540, airsim_subframe_octets(1536));
	/* 8 us at 240 Mbit/s. */
	KUNIT_EXPECT_EQ(test, 240, airsim_spacing_octets(&ht, 6));
	/* 1/4 us: 7.5 octets. */
	KUNIT_EXPECT_EQ(test, 8, airsim_spacing_octets(&ht, 1));
	KUNIT_EXPECT_EQ(test, 0, airsim_spacing_octets(&ht, 0));
	/* 16 us at 4803.9 Mbit/s: 9607.8 octets. */
	KUNIT_EXPECT_EQ(test, 9608, airsim_spacing_octets(&he, 7));
}

/* An octet is received at the end of its symbol. */
static void payload_test(struct kunit *test)
{
	static const struct airsim_rate cck = CCK(2000);
	static const struct airsim_rate ht = HT(5, 2, 40, 400);
	static const struct airsim_rate he = HE(9, 1, 20, 800);

	KUNIT_EXPECT_EQ(test, 40000, airsim_payload_ns(&cck, 10));
	/* 16 + 848 = 864. */
	KUNIT_EXPECT_EQ(test, 3600, airsim_payload_ns(&ht, 106));
	KUNIT_EXPECT_EQ(test, 7200, airsim_payload_ns(&ht, 107));
	KUNIT_EXPECT_LE(test, airsim_preamble_ns(&ht) +
			airsim_payload_ns(&ht, 42 * 1544),
			airsim_ppdu_ns(&ht, 42 * 1544));
	KUNIT_EXPECT_EQ(test, 13600, airsim_payload_ns(&he, 193));
	KUNIT_EXPECT_EQ(test, 27200, airsim_payload_ns(&he, 194));
}

/* 2 + 2 + 6 + 6 + 2 + 2 octets, the bitmap, and 4 of FCS. */
static void blockack_test(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 32, airsim_blockack_octets(1));
	KUNIT_EXPECT_EQ(test, 32, airsim_blockack_octets(64));
	KUNIT_EXPECT_EQ(test, 56, airsim_blockack_octets(65));
	KUNIT_EXPECT_EQ(test, 56, airsim_blockack_octets(256));
	KUNIT_EXPECT_EQ(test, 88, airsim_blockack_octets(257));
	KUNIT_EXPECT_EQ(test, 88, airsim_blockack_octets(512));
	KUNIT_EXPECT_EQ(test, 152, airsim_blockack_octets(513));
	KUNIT_EXPECT_EQ(test, 152, airsim_blockack_octets(1024));
}

static void response_test(struct kunit *test)
{
	static const struct {
		struct airsim_rate rate;
		u16 basic_rates;
		struct airsim_rate response;
	} cases[] = {
		/* BPSK 1/2, QPSK 3/4, 16-QAM 1/2, 64-QAM 2/3. */
		{ HT(0, 1, 20, 800), BASIC_6_12_24, OFDM(6000) },
		{ HT(2, 2, 20, 800), BASIC_6_12_24, OFDM(12000) },
		{ HT(3, 2, 40, 400), BASIC_6_12_24, OFDM(24000) },
		{ HT(5, 2, 40, 400), BASIC_54, OFDM(24000) },
		/* 256-QAM to 4096-QAM refer to 54 Mbit/s. */
		{ VHT(9, 1, 80, 400), BASIC_54, OFDM(54000) },
		{ HE(11, 1, 80, 800), BASIC_54, OFDM(54000) },
		{ HE(11, 1, 80, 800), BASIC_6_12_24, OFDM(24000) },
		{ EHT(13, 1, 320, 800), BASIC_54, OFDM(54000) },
		{ OFDM(9000), BASIC_6_12_24, OFDM(6000) },
		{ OFDM(54000), BASIC_6_12_24, OFDM(24000) },
		/* No basic rate is low enough, or of the right class. */
		{ OFDM(18000), BASIC_24, OFDM(12000) },
		{ ERP_OFDM(54000), BASIC_1_2, ERP_OFDM(24000) },
		{ CCK(11000), BASIC_1_2, CCK(2000) },
		{ CCK(1000), BASIC_1_2, CCK(1000) },
		{ CCK(5500), BASIC_6_12_24, CCK(5500) },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct airsim_rate *expected = &cases[i].response;
		struct airsim_rate response =
			airsim_response_rate(&cases[i].rate,
					     cases[i].basic_rates);

		KUNIT_EXPECT_TRUE_MSG(test, airsim_rate_valid(&response),
				      "case %d", i);
		KUNIT_EXPECT_EQ_MSG(test, expected->format, response.format,
				    "case %d", i);
		KUNIT_EXPECT_EQ_MSG(test, expected->legacy_kbps,
				    response.legacy_kbps, "case %d", i);
		KUNIT_EXPECT_EQ_MSG(test, expected->extension_ns,
				    response.extension_ns, "case %d", i);
	}
}

/* RTS near stations without OFDM, and CTS to the sender itself. */
static void protection_test(struct kunit *test)
{
	static const struct {
		struct airsim_rate rate;
		u16 basic_rates;
		bool cck;
		struct airsim_rate protection;
		u32 cts_ns;
	} cases[] = {
		{ HT(7, 1, 20, 800), BASIC_6_12_24, false, OFDM(24000), 28000 },
		{ HT(0, 1, 20, 800), BASIC_6_12_24, false, OFDM(6000), 44000 },
		{ VHT(9, 1, 80, 400), BASIC_54, false, OFDM(54000), 24000 },
		/* Basic, even if that is faster than the PPDU. */
		{ OFDM(6000), BASIC_24, false, OFDM(24000), 28000 },
		{ OFDM(54000), 0, false, OFDM(24000), 28000 },
		/* 192 us, and 14 octets at 2, 5.5 or 11 Mbit/s. */
		{ ERP_OFDM(54000), BASIC_1_2, false, CCK(2000), 248000 },
		{ ERP_OFDM(54000), BASIC_1_2, true, CCK(2000), 248000 },
		{ ERP_OFDM(54000), BASIC_6_12_24, true, CCK(11000), 203000 },
		{ ERP_OFDM(6000), BASIC_6_12_24, true, CCK(5500), 213000 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct airsim_rate *expected = &cases[i].protection;
		struct airsim_rate rate =
			airsim_protection_rate(&cases[i].rate,
					       cases[i].basic_rates,
					       cases[i].cck);

		KUNIT_EXPECT_TRUE_MSG(test, airsim_rate_valid(&rate),
				      "case %d", i);
		KUNIT_EXPECT_EQ_MSG(test, expected->format, rate.format,
				    "case %d", i);
		KUNIT_EXPECT_EQ_MSG(test, expected->legacy_kbps,
				    rate.legacy_kbps, "case %d", i);
		KUNIT_EXPECT_EQ_MSG(test, cases[i].cts_ns,
				    airsim_ppdu_ns(&rate, AIRSIM_CTS_OCTETS),
				    "case %d", i);
	}
}

static void eifs_test(struct kunit *test)
{
	/* 2.4 GHz where all stations are ERP. */
	struct airsim_phy erp_only = airsim_phy_2ghz_short_slot;

	/* SIFS and 44 us; SIFS and 192 + 112 us. */
	KUNIT_EXPECT_EQ(test, 60000, airsim_eifs_extra_ns(&airsim_phy_5ghz));
	KUNIT_EXPECT_EQ(test, 60000, airsim_eifs_extra_ns(&airsim_phy_6ghz));
	KUNIT_EXPECT_EQ(test, 314000,
			airsim_eifs_extra_ns(&airsim_phy_2ghz_short_slot));
	KUNIT_EXPECT_EQ(test, 314000,
			airsim_eifs_extra_ns(&airsim_phy_2ghz_long_slot));

	/* SIFS, 44 us and the signal extension. */
	erp_only.lowest_kbps = 6000;
	KUNIT_EXPECT_EQ(test, 60000, airsim_eifs_extra_ns(&erp_only));
}

static struct kunit_case airtime_cases[] = {
	KUNIT_CASE(rate_test),
	KUNIT_CASE(invalid_test),
	KUNIT_CASE(ppdu_test),
	KUNIT_CASE(subframe_test),
	KUNIT_CASE(payload_test),
	KUNIT_CASE(blockack_test),
	KUNIT_CASE(response_test),
	KUNIT_CASE(protection_test),
	KUNIT_CASE(eifs_test),
	{}
};

static struct kunit_suite airtime_suite = {
	.name = "airsim_airtime",
	.test_cases = airtime_cases,
};

kunit_test_suite(airtime_suite);
