// SPDX-License-Identifier: GPL-2.0-only
/*
 * Durations of 802.11 transmissions, from IEEE 802.11-2020, 802.11ax-2021 and
 * 802.11be-2024: clauses 16.3.4 (CCK), 17.4.3 (OFDM), 19.4.3 (HT), 21.4.3 (VHT),
 * 27.4.3 (HE), 36.4.3 (EHT), and 10.6.6.2 and 10.6.6.5 (rates of frames that
 * protect, and of responses).
 *
 * Options of the standard: CCK uses the long preamble; HT and VHT use BCC, HE
 * and EHT use LDPC, which has no tail bits; the LDPC extra symbol never occurs;
 * the nominal packet padding of HE and EHT is 0, so there is no packet
 * extension; they use 2x LTFs with a guard interval of 0.8 or 1.6 us and 4x LTFs
 * with 3.2 us. An EHT MU PPDU is for one receiver, and its EHT-SIG uses EHT-MCS
 * 0. An HE TB PPDU is one with @ru_tones; its guard interval is 1.6 or 3.2 us.
 *
 * This runs for every MPDU, so it uses 32 bit arithmetic. That suffices for
 * PPDUs of up to 4 s.
 */
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/math.h>
#include "airtime.h"

#define SERVICE_BITS		16
#define TAIL_BITS		6
#define LEGACY_SYMBOL_NS	4000
#define SHORT_GI_NS		400
#define EXTENSION_NS		6000
/*
 * EHT-SIG to one receiver, in symbols of 26 bits: 20 bits for all receivers, 22
 * for this one, 4 of CRC and 6 of tail (36.3.12.8).
 */
#define EHT_SIG_NS		(DIV_ROUND_UP(20 + 22 + 4 + 6, 26) * 4000)

/*
 * Bits of airsim_legacy_kbps: mandatory are all CCK rates, and OFDM at 6, 12
 * and 24 Mbit/s.
 */
#define CCK_SET			GENMASK(3, 0)
#define OFDM_SET		GENMASK(11, 4)
#define OFDM_MANDATORY		(BIT(4) | BIT(6) | BIT(8))

const u16 airsim_legacy_kbps[AIRSIM_LEGACY_RATES] = {
	1000, 2000, 5500, 11000,
	6000, 9000, 12000, 18000, 24000, 36000, 48000, 54000,
};

/* Table 17-21. */
const struct airsim_phy airsim_phy_5ghz = {
	.sifs_ns = 16000,
	.slot_ns = 9000,
	.lowest_kbps = 6000,
};

/* As at 5 GHz: tables 27-61 and 36-70. */
const struct airsim_phy airsim_phy_6ghz = {
	.sifs_ns = 16000,
	.slot_ns = 9000,
	.lowest_kbps = 6000,
};

/* Table 18-5; long slots where some stations are not ERP. */
const struct airsim_phy airsim_phy_2ghz_short_slot = {
	.sifs_ns = 10000,
	.slot_ns = 9000,
	.extension_ns = EXTENSION_NS,
	.lowest_kbps = 1000,
};

const struct airsim_phy airsim_phy_2ghz_long_slot = {
	.sifs_ns = 10000,
	.slot_ns = 20000,
	.extension_ns = EXTENSION_NS,
	.lowest_kbps = 1000,
};

/*
 * Modulation and coding of MCS 0 to 13: coded bits per subcarrier, coding rate,
 * and the OFDM rate with the same modulation and coding rate (10.6.11).
 */
static const struct {
	u8 coded_bits;
	u8 numerator;
	u8 denominator;
	u16 reference_kbps;
} mcs_table[] = {
	{ 1, 1, 2, 6000 },
	{ 2, 1, 2, 12000 },
	{ 2, 3, 4, 18000 },
	{ 4, 1, 2, 24000 },
	{ 4, 3, 4, 36000 },
	{ 6, 2, 3, 48000 },
	{ 6, 3, 4, 54000 },
	{ 6, 5, 6, 54000 },
	{ 8, 3, 4, 54000 },
	{ 8, 5, 6, 54000 },
	{ 10, 3, 4, 54000 },
	{ 10, 5, 6, 54000 },
	{ 12, 3, 4, 54000 },
	{ 12, 5, 6, 54000 },
};

static bool airsim_rate_is_legacy(const struct airsim_rate *rate)
{
	return rate->format == AIRSIM_CCK || rate->format == AIRSIM_OFDM;
}

/* HE and EHT have the same symbols, subcarriers and guard intervals. */
static bool airsim_rate_is_he_or_eht(const struct airsim_rate *rate)
{
	return rate->format == AIRSIM_HE || rate->format == AIRSIM_EHT;
}

/* Index in airsim_legacy_kbps; AIRSIM_LEGACY_RATES if there is none. */
static unsigned int airsim_find_legacy_rate(u16 kbps)
{
	unsigned int i;

	for (i = 0; i < AIRSIM_LEGACY_RATES; i++)
		if (airsim_legacy_kbps[i] == kbps)
			break;
	return i;
}

/*
 * Combinations that 21.5 excludes, as the bits do not divide evenly among the
 * encoders.
 */
static bool airsim_vht_mcs_excluded(const struct airsim_rate *rate)
{
	switch (rate->width_mhz) {
	case 20:
		return rate->mcs == 9 && rate->streams != 3;
	case 80:
		return rate->mcs == 6 && rate->streams == 3;
	case 160:
		return rate->mcs == 9 && rate->streams == 3;
	default:
		return false;
	}
}

static bool airsim_width_valid(const struct airsim_rate *rate)
{
	switch (rate->width_mhz) {
	case 20:
		return true;
	case 40:
		return !airsim_rate_is_legacy(rate);
	case 80:
	case 160:
		return rate->format >= AIRSIM_VHT;
	case 320:
		return rate->format == AIRSIM_EHT;
	default:
		return false;
	}
}

static bool airsim_gi_valid(const struct airsim_rate *rate)
{
	switch (rate->gi_ns) {
	case SHORT_GI_NS:
		return !airsim_rate_is_he_or_eht(rate);
	case 800:
		return true;
	case 1600:
	case 3200:
		return airsim_rate_is_he_or_eht(rate);
	default:
		return false;
	}
}

/**
 * airsim_rate_valid - whether the standard defines a rate
 * @rate: the rate; members that its format does not use are ignored
 *
 * The other functions in this file require valid rates.
 */
bool airsim_rate_valid(const struct airsim_rate *rate)
{
	unsigned int legacy = airsim_find_legacy_rate(rate->legacy_kbps);

	if (rate->streams < 1 || rate->streams > 4 || !airsim_width_valid(rate))
		return false;
	if (rate->extension_ns && rate->extension_ns != EXTENSION_NS)
		return false;

	switch (rate->format) {
	case AIRSIM_CCK:
		return rate->streams == 1 && !rate->extension_ns &&
		       legacy < AIRSIM_CCK_RATES;
	case AIRSIM_OFDM:
		return rate->streams == 1 && legacy >= AIRSIM_CCK_RATES &&
		       legacy < AIRSIM_LEGACY_RATES;
	case AIRSIM_HT:
		return rate->mcs <= 7 && airsim_gi_valid(rate);
	case AIRSIM_VHT:
		return rate->mcs <= 9 && airsim_gi_valid(rate) &&
		       !airsim_vht_mcs_excluded(rate);
	case AIRSIM_HE:
		return rate->mcs <= 11 && airsim_gi_valid(rate);
	case AIRSIM_EHT:
		return rate->mcs <= 13 && airsim_gi_valid(rate);
	}
	return false;
}

/* N_SD of a resource unit: table 27-15. */
static u32 airsim_ru_subcarriers(u16 tones)
{
	switch (tones) {
	case 26:
		return 24;
	case 52:
		return 48;
	case 106:
		return 102;
	case 242:
		return 234;
	case 484:
		return 468;
	case 996:
		return 980;
	default:
		return 1960;
	}
}

/* N_SD: 19.3.6, 21.3.6, 27.3.9 and 36.5. */
static u32 airsim_data_subcarriers(const struct airsim_rate *rate)
{
	bool he = airsim_rate_is_he_or_eht(rate);

	if (rate->ru_tones)
		return airsim_ru_subcarriers(rate->ru_tones);
	switch (rate->width_mhz) {
	case 320:
		return 3920;
	case 160:
		return he ? 1960 : 468;
	case 80:
		return he ? 980 : 234;
	case 40:
		return he ? 468 : 108;
	default:
		return he ? 234 : 52;
	}
}

/**
 * airsim_bits_per_symbol - data bits per symbol (N_DBPS)
 * @rate: the rate
 *
 * Rounded down for HE and EHT from 80 MHz on. CCK is treated as if it had OFDM
 * symbols.
 */
u32 airsim_bits_per_symbol(const struct airsim_rate *rate)
{
	u32 coded_bits;

	if (airsim_rate_is_legacy(rate))
		return rate->legacy_kbps * (LEGACY_SYMBOL_NS / 1000) / 1000;
	coded_bits = airsim_data_subcarriers(rate) * rate->streams *
		     mcs_table[rate->mcs].coded_bits;
	return coded_bits * mcs_table[rate->mcs].numerator /
	       mcs_table[rate->mcs].denominator;
}

/**
 * airsim_symbol_ns - duration of a symbol, including the guard interval
 * @rate: the rate
 */
u32 airsim_symbol_ns(const struct airsim_rate *rate)
{
	if (airsim_rate_is_legacy(rate))
		return LEGACY_SYMBOL_NS;
	return (airsim_rate_is_he_or_eht(rate) ? 12800 : 3200) + rate->gi_ns;
}

/**
 * airsim_rate_kbps - data rate of the PHY, rounded down to kbit/s
 * @rate: the rate
 */
u32 airsim_rate_kbps(const struct airsim_rate *rate)
{
	/* Symbol durations are multiples of 100 ns. */
	return airsim_bits_per_symbol(rate) * 10000 /
	       (airsim_symbol_ns(rate) / 100);
}

/**
 * airsim_ltfs - number of long training fields
 * @streams: spatial streams, 1 to 4
 */
u8 airsim_ltfs(u8 streams)
{
	return streams == 3 ? 4 : streams;
}

/**
 * airsim_preamble_ns - time from the start of a PPDU to its first data symbol
 * @rate: the rate
 *
 * Training and signal fields in the order of transmission. There is one long
 * training field per stream, four for three streams. The HE-STF of an HE TB PPDU
 * takes 8 us instead of 4.
 */
u32 airsim_preamble_ns(const struct airsim_rate *rate)
{
	u32 ltf_ns = (rate->gi_ns == 3200 ? 12800 : 6400) + rate->gi_ns;
	u32 trainings = airsim_ltfs(rate->streams);

	switch (rate->format) {
	case AIRSIM_CCK:
		return 144000 + 48000;
	case AIRSIM_OFDM:
		return 20000;
	case AIRSIM_HT:
		return 20000 + 8000 + 4000 + trainings * 4000;
	case AIRSIM_VHT:
		return 20000 + 8000 + 4000 + trainings * 4000 + 4000;
	case AIRSIM_HE:
		break;
	case AIRSIM_EHT:
		return 20000 + 4000 + 8000 + EHT_SIG_NS + 4000 +
		       trainings * ltf_ns;
	}
	if (rate->ru_tones)
		return 20000 + 4000 + 8000 + 8000 + rate->ltfs * ltf_ns;
	return 20000 + 4000 + 8000 + 4000 + trainings * ltf_ns;
}

static u32 airsim_symbols_ns(const struct airsim_rate *rate, u32 bits)
{
	return DIV_ROUND_UP(bits, airsim_bits_per_symbol(rate)) *
	       airsim_symbol_ns(rate);
}

/* In whole microseconds, as in CCK's LENGTH field. */
static u32 airsim_cck_ns(const struct airsim_rate *rate, u32 octets)
{
	return DIV_ROUND_UP(80 * octets, rate->legacy_kbps / 100) * 1000;
}

/**
 * airsim_payload_ns - end of the symbol that has a given octet of the PSDU
 * @rate: the rate
 * @octets: octets of the PSDU up to there
 *
 * Return: nanoseconds since the first data symbol began.
 */
u32 airsim_payload_ns(const struct airsim_rate *rate, u32 octets)
{
	if (rate->format == AIRSIM_CCK)
		return airsim_cck_ns(rate, octets);
	return airsim_symbols_ns(rate, SERVICE_BITS + 8 * octets);
}

/*
 * Each of the N_ES BCC encoders adds a tail. An encoder handles at most 300
 * Mbit/s in HT and 600 Mbit/s in VHT with the short guard interval, which is
 * 1080 and 2160 bits per symbol. The tables of 21.5 have one exception up to
 * four streams: 11232 coded bits use six encoders instead of five.
 */
static u32 airsim_tail_bits(const struct airsim_rate *rate)
{
	u32 bits = airsim_bits_per_symbol(rate);

	switch (rate->format) {
	case AIRSIM_HT:
		return TAIL_BITS * DIV_ROUND_UP(bits, 1080);
	case AIRSIM_VHT:
		if (rate->width_mhz == 160 && rate->streams == 4 &&
		    rate->mcs == 7)
			return TAIL_BITS * 6;
		return TAIL_BITS * DIV_ROUND_UP(bits, 2160);
	case AIRSIM_HE:
	case AIRSIM_EHT:
		return 0;
	default:
		return TAIL_BITS;
	}
}

/**
 * airsim_ppdu_ns - duration of a PPDU (TXTIME), including signal extension
 * @rate: the rate
 * @psdu_octets: its PSDU, including FCS and A-MPDU delimiters
 *
 * With the short guard interval the data field is rounded up to 4 us symbols
 * (19.4.3, 21.4.3).
 */
u32 airsim_ppdu_ns(const struct airsim_rate *rate, u32 psdu_octets)
{
	u32 data_ns;

	if (rate->format == AIRSIM_CCK)
		return airsim_preamble_ns(rate) +
		       airsim_cck_ns(rate, psdu_octets);

	data_ns = airsim_symbols_ns(rate, SERVICE_BITS + 8 * psdu_octets +
						  airsim_tail_bits(rate));
	if (rate->gi_ns == SHORT_GI_NS)
		data_ns = roundup(data_ns, 4000);
	return airsim_preamble_ns(rate) + data_ns + rate->extension_ns;
}

/**
 * airsim_subframe_octets - length of an A-MPDU subframe with padding
 * @mpdu_octets: the MPDU with its FCS
 *
 * The last subframe has no padding; callers subtract it.
 */
u32 airsim_subframe_octets(u32 mpdu_octets)
{
	return AIRSIM_DELIMITER_OCTETS + round_up(mpdu_octets, 4);
}

/**
 * airsim_spacing_octets - minimum length of a subframe but the last
 * @rate: the rate
 * @density: Minimum MPDU Start Spacing of the receiver, table 9-184: 0 for
 *	none, else 2^(density - 3) us; at most 7
 *
 * Transmitters pad with empty delimiters (10.12.3).
 */
u32 airsim_spacing_octets(const struct airsim_rate *rate, u8 density)
{
	u32 spacing_ns = density ? 125u << density : 0;

	return round_up(DIV_ROUND_UP(spacing_ns * airsim_bits_per_symbol(rate),
				     8 * airsim_symbol_ns(rate)), 4);
}

/* Bits of the bitmap of a compressed BlockAck: 9.3.1.8, of EHT up to 1024. */
static u32 airsim_bitmap_bits(u16 window)
{
	if (window > 512)
		return 1024;
	if (window > 256)
		return 512;
	return window > 64 ? 256 : 64;
}

/**
 * airsim_blockack_octets - length of a compressed BlockAck, including FCS
 * @window: size of the BlockAck window, MPDUs
 *
 * Apart from the bitmap, it is as long as a BlockAckReq.
 */
u32 airsim_blockack_octets(u16 window)
{
	return AIRSIM_BAR_OCTETS + airsim_bitmap_bits(window) / 8;
}

/* CCK or OFDM, depending on the rate. */
static struct airsim_rate airsim_legacy_rate(u16 kbps, u16 extension_ns)
{
	bool cck = airsim_find_legacy_rate(kbps) < AIRSIM_CCK_RATES;

	return (struct airsim_rate) {
		.format = cck ? AIRSIM_CCK : AIRSIM_OFDM,
		.streams = 1,
		.width_mhz = 20,
		.legacy_kbps = kbps,
		.extension_ns = cck ? 0 : extension_ns,
	};
}

/* Highest rate of a set that does not exceed @most, or 0. */
static u16 airsim_highest_kbps(u16 set, u16 most)
{
	u16 highest = 0;
	int i;

	for (i = 0; i < AIRSIM_LEGACY_RATES; i++)
		if (set & BIT(i) && airsim_legacy_kbps[i] <= most)
			highest = max(highest, airsim_legacy_kbps[i]);
	return highest;
}

/* The rate, or the OFDM rate with its modulation and coding. */
static u16 airsim_reference_kbps(const struct airsim_rate *rate)
{
	return airsim_rate_is_legacy(rate) ?
		       rate->legacy_kbps :
		       mcs_table[rate->mcs].reference_kbps;
}

/**
 * airsim_response_rate - rate of the CTS, ACK or BlockAck in response to a PPDU
 * @rate: the rate of the PPDU
 * @basic_rates: basic rate set, bits of airsim_legacy_kbps
 *
 * The highest basic rate, or else the highest mandatory rate, that does not
 * exceed the rate of the PPDU or the OFDM rate with its modulation and coding.
 * CCK is answered at CCK rates, all other formats at OFDM rates.
 */
struct airsim_rate airsim_response_rate(const struct airsim_rate *rate,
					u16 basic_rates)
{
	u16 mandatory = OFDM_MANDATORY;
	u16 class = OFDM_SET;
	u16 most = airsim_reference_kbps(rate);
	u16 kbps;

	if (rate->format == AIRSIM_CCK) {
		class = CCK_SET;
		mandatory = CCK_SET;
	}
	kbps = airsim_highest_kbps(basic_rates & class, most);
	if (!kbps)
		kbps = airsim_highest_kbps(mandatory, most);
	return airsim_legacy_rate(kbps, rate->extension_ns);
}

/**
 * airsim_protection_rate - rate of the frame that protects a PPDU
 * @rate: the rate of the PPDU, not CCK
 * @basic_rates: basic rate set, bits of airsim_legacy_kbps
 * @cck: stations that know no OFDM are to be reached (10.27.2)
 *
 * Unlike a response, it must be at a basic rate, if there are any (10.6.6.2):
 * the highest that does not exceed that of the PPDU, or else the lowest.
 */
struct airsim_rate airsim_protection_rate(const struct airsim_rate *rate,
					  u16 basic_rates, bool cck)
{
	u16 set = basic_rates ?: OFDM_MANDATORY;
	u16 kbps;

	if (cck)
		set = basic_rates & CCK_SET ?: CCK_SET;
	kbps = airsim_highest_kbps(set, airsim_reference_kbps(rate));
	if (!kbps)
		kbps = airsim_legacy_kbps[__ffs(set)];
	return airsim_legacy_rate(kbps, rate->extension_ns);
}

/**
 * airsim_eifs_extra_ns - difference between EIFS and DIFS or AIFS
 * @phy: the PHY
 *
 * The time for a response to the frame that could not be decoded: SIFS and an
 * ACK at the lowest rate (10.3.2.3.7).
 */
u32 airsim_eifs_extra_ns(const struct airsim_phy *phy)
{
	struct airsim_rate rate =
		airsim_legacy_rate(phy->lowest_kbps, phy->extension_ns);

	return phy->sifs_ns + airsim_ppdu_ns(&rate, AIRSIM_ACK_OCTETS);
}
