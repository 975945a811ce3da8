// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long 802.11 transmissions take, from IEEE 802.11-2020: clause 17.4.3
 * (OFDM), clause 19.4.3 (HT), clause 10.6.6.5 (rates of control responses).
 */
#include <linux/kernel.h>
#include <linux/math.h>
#include "airtime.h"

#define SERVICE_BITS		16
#define TAIL_BITS		6
#define SYMBOL_NS		4000
#define SYMBOL_SHORT_GI_NS	3600

/* Data bits a subcarrier carries a symbol, doubled, for MCS 0 to 7: 19.5. */
static const u8 ht_bits_doubled[8] = { 1, 2, 3, 4, 6, 8, 9, 10 };

/* Legacy rate whose modulation and coding rate are those of MCS 0 to 7. */
static const u16 ht_reference_kbps[8] = {
	6000, 12000, 18000, 24000, 36000, 48000, 54000, 54000
};

/**
 * airsim_streams - spatial streams of a rate
 * @rate: the rate
 */
u32 airsim_streams(const struct airsim_rate *rate)
{
	return rate->format == AIRSIM_HT ? rate->mcs / 8 + 1 : 1;
}

/**
 * airsim_bits_per_symbol - data bits in one OFDM symbol (N_DBPS)
 * @rate: the rate
 */
u32 airsim_bits_per_symbol(const struct airsim_rate *rate)
{
	u32 subcarriers = rate->ht40 ? 108 : 52;

	if (rate->format == AIRSIM_LEGACY)
		return rate->legacy_kbps * (SYMBOL_NS / 1000) / 1000;
	return subcarriers * ht_bits_doubled[rate->mcs % 8] / 2 *
	       airsim_streams(rate);
}

/*
 * BCC encoders (N_ES): a second one above 300 Mbit/s with the short guard
 * interval, which is 1080 bits a symbol (19.5).
 */
static u32 encoders(const struct airsim_rate *rate)
{
	if (rate->format == AIRSIM_LEGACY)
		return 1;
	return airsim_bits_per_symbol(rate) > 1080 ? 2 : 1;
}

/**
 * airsim_preamble_ns - from the start of a PPDU to its first data symbol
 * @rate: the rate
 *
 * Legacy: STF, LTF and SIGNAL. HT-mixed adds HT-SIG, HT-STF and one HT-LTF a
 * stream, four for three streams (table 19-13).
 */
u32 airsim_preamble_ns(const struct airsim_rate *rate)
{
	u32 streams = airsim_streams(rate);

	if (rate->format == AIRSIM_LEGACY)
		return 20000;
	return 20000 + 8000 + 4000 + 4000 * (streams == 3 ? 4 : streams);
}

static u32 symbols_ns(const struct airsim_rate *rate, u32 bits)
{
	u32 symbols = DIV_ROUND_UP(bits, airsim_bits_per_symbol(rate));

	if (rate->format == AIRSIM_HT && rate->short_gi)
		return symbols * SYMBOL_SHORT_GI_NS;
	return symbols * SYMBOL_NS;
}

/**
 * airsim_payload_ns - when the symbol with a given octet of the PSDU has ended
 * @rate: the rate
 * @octets: how many octets of the PSDU have to be there
 *
 * Return: nanoseconds since the first data symbol began.
 */
u32 airsim_payload_ns(const struct airsim_rate *rate, u32 octets)
{
	return symbols_ns(rate, SERVICE_BITS + 8 * octets);
}

/**
 * airsim_ppdu_ns - duration of a PPDU (TXTIME)
 * @rate: the rate
 * @psdu_octets: its PSDU, FCS and A-MPDU delimiters included
 *
 * With the short guard interval the data field is rounded up to whole 4 us
 * symbols (equation 19-90).
 */
u32 airsim_ppdu_ns(const struct airsim_rate *rate, u32 psdu_octets)
{
	u32 bits = SERVICE_BITS + 8 * psdu_octets + TAIL_BITS * encoders(rate);

	return airsim_preamble_ns(rate) +
	       roundup(symbols_ns(rate, bits), SYMBOL_NS);
}

/**
 * airsim_subframe_octets - an MPDU in an A-MPDU, delimiter and padding included
 * @mpdu_octets: the MPDU with its FCS
 *
 * The last subframe carries no padding; callers subtract it.
 */
u32 airsim_subframe_octets(u32 mpdu_octets)
{
	return AIRSIM_DELIMITER_OCTETS + round_up(mpdu_octets, 4);
}

/**
 * airsim_spacing_octets - the least length of a subframe but the last
 * @rate: the rate
 * @density: Minimum MPDU Start Spacing of the receiver, table 9-184: 0 for
 *	none, else 2^(density - 3) us
 *
 * A sender fills up with empty delimiters (10.12.3).
 */
u32 airsim_spacing_octets(const struct airsim_rate *rate, u8 density)
{
	u32 symbol_ns = rate->short_gi ? SYMBOL_SHORT_GI_NS : SYMBOL_NS;
	u32 spacing_ns = density ? 125u << density : 0;

	return round_up(DIV_ROUND_UP(spacing_ns * airsim_bits_per_symbol(rate),
				     8 * symbol_ns), 4);
}

/**
 * airsim_response_kbps - rate of the ACK or BlockAck that answers a PPDU
 * @rate: the rate of the PPDU
 *
 * The highest mandatory rate not above the PPDU's own legacy rate, or above
 * the legacy rate with its modulation and coding.
 */
u16 airsim_response_kbps(const struct airsim_rate *rate)
{
	u16 kbps = rate->format == AIRSIM_LEGACY ?
		   rate->legacy_kbps : ht_reference_kbps[rate->mcs % 8];

	if (kbps >= 24000)
		return 24000;
	return kbps >= 12000 ? 12000 : 6000;
}

/**
 * airsim_control_ns - duration of a control frame in a legacy PPDU
 * @kbps: its rate
 * @octets: its length, FCS included
 */
u32 airsim_control_ns(u16 kbps, u32 octets)
{
	const struct airsim_rate rate = {
		.format = AIRSIM_LEGACY, .legacy_kbps = kbps,
	};

	return airsim_ppdu_ns(&rate, octets);
}
