// SPDX-License-Identifier: GPL-2.0-only
/*
 * UL OFDMA, IEEE 802.11ax-2021: an access point sends a Trigger frame (clause
 * 9.3.1.22); SIFS later the stations that it lists send HE TB PPDUs (27.3) in
 * parallel, each on its resource unit (RU) and all of the same duration; SIFS
 * later the access point answers all of them with a Multi-STA BlockAck
 * (9.3.1.8.6).
 */
#include <linux/kernel.h>
#include <linux/math.h>
#include "he_tb.h"

/* Frame Control, Duration, RA and TA; Common Info. */
#define TRIGGER_OCTETS		(16 + 8)
#define USER_INFO_OCTETS	5
/* The Trigger Dependent User Info field of a Basic Trigger frame. */
#define BASIC_INFO_OCTETS	1
/* Frame Control, Duration, RA, TA and BA Control. */
#define MULTI_BLOCKACK_OCTETS	18
#define AID_TID_INFO_OCTETS	2

/*
 * Tables 27-7 to 27-9 and 9-29i: RUs by channel width, and the number of the
 * first RU of 80 MHz in the RU Allocation subfield.
 */
static const struct {
	u16 tones;
	u16 mhz;
	u8 number;
	u8 count[4];	/* at 20, 40, 80 and 160 MHz */
} airsim_rus[] = {
	{ 1992, 160, 68, { 0, 0, 0, 1 } },
	{ 996, 80, 67, { 0, 0, 1, 2 } },
	{ 484, 40, 65, { 0, 1, 2, 4 } },
	{ 242, 20, 61, { 1, 2, 4, 8 } },
	{ 106, 8, 53, { 2, 4, 8, 16 } },
	{ 52, 4, 37, { 4, 8, 16, 32 } },
	{ 26, 2, 0, { 9, 18, 37, 74 } },
};

static unsigned int airsim_width_index(u16 width_mhz)
{
	switch (width_mhz) {
	case 160:
		return 3;
	case 80:
		return 2;
	case 40:
		return 1;
	default:
		return 0;
	}
}

static unsigned int airsim_ru_index(u16 tones)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(airsim_rus) - 1; i++)
		if (airsim_rus[i].tones == tones)
			break;
	return i;
}

/**
 * airsim_ru_count - number of RUs of a size in a channel
 * @width_mhz: channel width
 * @tones: size
 */
unsigned int airsim_ru_count(u16 width_mhz, u16 tones)
{
	return airsim_rus[airsim_ru_index(tones)]
		.count[airsim_width_index(width_mhz)];
}

/**
 * airsim_ru_tones - the largest RUs of which a channel has enough
 * @width_mhz: channel width
 * @stations: at least one, at most as many as there are RUs of 26 tones
 *
 * Return: tones of an RU.
 */
u16 airsim_ru_tones(u16 width_mhz, unsigned int stations)
{
	unsigned int width = airsim_width_index(width_mhz);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(airsim_rus) - 1; i++)
		if (airsim_rus[i].count[width] >= stations)
			break;
	return airsim_rus[i].tones;
}

/**
 * airsim_ru_mhz - nominal width of an RU
 * @tones: its size
 */
u16 airsim_ru_mhz(u16 tones)
{
	return airsim_rus[airsim_ru_index(tones)].mhz;
}

/**
 * airsim_ru_allocation - the RU Allocation subfield of a Trigger frame
 * @tones: size of the RU
 * @index: index among the RUs of this size, in ascending frequency; at 160 MHz
 *	the primary 80 MHz are the lower ones
 */
u8 airsim_ru_allocation(u16 tones, unsigned int index)
{
	unsigned int i = airsim_ru_index(tones);
	unsigned int half = airsim_rus[i].count[airsim_width_index(80)];

	if (!half)
		return airsim_rus[i].number << 1 | 1;
	return (airsim_rus[i].number + index % half) << 1 | index / half;
}

/**
 * airsim_tb_ns - duration of an HE TB PPDU
 * @rate: its rate
 * @psdu_octets: what it is to carry
 * @limit_ns: maximum duration
 *
 * Return: nanoseconds, as airsim_ppdu_ns(); or if these are too many, the longest
 * duration within the limit.
 */
u32 airsim_tb_ns(const struct airsim_rate *rate, u32 psdu_octets, u32 limit_ns)
{
	u32 fixed_ns = airsim_preamble_ns(rate) + rate->extension_ns;
	u32 symbol_ns = airsim_symbol_ns(rate);
	u32 most = (limit_ns - min(limit_ns, fixed_ns)) / symbol_ns;
	u32 most_octets = most * airsim_bits_per_symbol(rate) / 8;

	if (psdu_octets >= most_octets)
		return fixed_ns + most * symbol_ns;
	return min(airsim_ppdu_ns(rate, psdu_octets),
		   fixed_ns + most * symbol_ns);
}

/**
 * airsim_ul_length - the UL Length subfield of a Trigger frame
 * @rate: rate of the HE TB PPDUs
 * @ppdu_ns: their duration
 *
 * The L-SIG LENGTH of the HE TB PPDUs: equation 27-11, with m = 2.
 */
u16 airsim_ul_length(const struct airsim_rate *rate, u32 ppdu_ns)
{
	u32 after_l_sig_ns = ppdu_ns - rate->extension_ns - 20000;

	return DIV_ROUND_UP(after_l_sig_ns, 4000) * 3 - 3 - 2;
}

/**
 * airsim_trigger_octets - length of a Trigger frame, including FCS
 * @basic: a Basic Trigger frame, rather than a BSRP Trigger frame
 * @stations: stations that it lists
 *
 * It has no padding: no station asks for processing time.
 */
u32 airsim_trigger_octets(bool basic, unsigned int stations)
{
	return TRIGGER_OCTETS + AIRSIM_FCS_OCTETS +
	       stations * (USER_INFO_OCTETS + basic * BASIC_INFO_OCTETS);
}

/**
 * airsim_multi_blockack_octets - length of a Multi-STA BlockAck, including FCS
 * @stations: stations that it acknowledges
 * @bitmap_octets: octets of their bitmaps, with starting sequence numbers
 *
 * A station that sent a single MPDU gets an Ack, which has no bitmap.
 */
u32 airsim_multi_blockack_octets(unsigned int stations, u32 bitmap_octets)
{
	return MULTI_BLOCKACK_OCTETS + stations * AID_TID_INFO_OCTETS +
	       bitmap_octets + AIRSIM_FCS_OCTETS;
}
