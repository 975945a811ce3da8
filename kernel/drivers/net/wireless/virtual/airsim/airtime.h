/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long 802.11 transmissions take. Pure arithmetic: lengths in octets in,
 * nanoseconds out.
 */
#ifndef AIRSIM_AIRTIME_H
#define AIRSIM_AIRTIME_H

#include <linux/types.h>

/* OFDM PHY characteristics at 5 GHz: IEEE 802.11-2020 tables 17-21, 19-25. */
#define AIRSIM_SIFS_NS		16000
#define AIRSIM_SLOT_NS		9000
#define AIRSIM_RX_START_DELAY_NS	20000

#define AIRSIM_FCS_OCTETS	4
#define AIRSIM_ACK_OCTETS	14
/* Compressed BlockAck with a bitmap of 64 MPDUs: clause 9.3.1.8. */
#define AIRSIM_BLOCKACK_OCTETS	32
#define AIRSIM_DELIMITER_OCTETS	4
#define AIRSIM_HT_MAX_PPDU_NS	5484000

enum airsim_format {
	AIRSIM_LEGACY,		/* clause 17: OFDM, 20 MHz */
	AIRSIM_HT,		/* clause 19: HT-mixed format */
};

/**
 * struct airsim_rate - what a PPDU is modulated with
 * @format: legacy OFDM or HT
 * @mcs: HT MCS index, 0 to 31
 * @ht40: 40 MHz rather than 20 MHz
 * @short_gi: 400 ns guard interval rather than 800 ns
 * @legacy_kbps: rate of a legacy PPDU, 6000 to 54000
 */
struct airsim_rate {
	enum airsim_format format;
	u8 mcs;
	bool ht40;
	bool short_gi;
	u16 legacy_kbps;
};

u32 airsim_bits_per_symbol(const struct airsim_rate *rate);
u32 airsim_streams(const struct airsim_rate *rate);
u32 airsim_preamble_ns(const struct airsim_rate *rate);
u32 airsim_payload_ns(const struct airsim_rate *rate, u32 octets);
u32 airsim_ppdu_ns(const struct airsim_rate *rate, u32 psdu_octets);
u32 airsim_subframe_octets(u32 mpdu_octets);
u32 airsim_spacing_octets(const struct airsim_rate *rate, u8 density);
u16 airsim_response_kbps(const struct airsim_rate *rate);
u32 airsim_control_ns(u16 kbps, u32 octets);

#endif
