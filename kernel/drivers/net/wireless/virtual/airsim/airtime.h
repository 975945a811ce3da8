/* SPDX-License-Identifier: GPL-2.0-only */
/* Durations of 802.11 transmissions, in nanoseconds. */
#ifndef AIRSIM_AIRTIME_H
#define AIRSIM_AIRTIME_H

#include <linux/types.h>
#include <uapi/linux/airsim.h>

#define AIRSIM_FCS_OCTETS	4
#define AIRSIM_RTS_OCTETS	20
#define AIRSIM_CTS_OCTETS	14
#define AIRSIM_ACK_OCTETS	14
#define AIRSIM_BAR_OCTETS	24
#define AIRSIM_DELIMITER_OCTETS	4
/* aPSDUMaxLength of EHT */
#define AIRSIM_EHT_PSDU_OCTETS	15523200

/* Legacy rates, CCK first; basic rate sets are bitmaps of their indices. */
#define AIRSIM_LEGACY_RATES	12
#define AIRSIM_CCK_RATES	4
extern const u16 airsim_legacy_kbps[AIRSIM_LEGACY_RATES];

/**
 * struct airsim_rate - rate of a PPDU
 * @format: PHY format
 * @mcs: MCS of one stream: HT 0 to 7, VHT 0 to 9, HE 0 to 11, EHT 0 to 13
 * @streams: spatial streams, 1 to 4; 1 for CCK and OFDM
 * @width_mhz: 20 or 40; VHT, HE and EHT also 80 and 160, EHT also 320
 * @gi_ns: guard interval: 400 or 800 for HT and VHT; 800, 1600 or 3200 for HE
 *	and EHT
 * @legacy_kbps: rate of a CCK or OFDM PPDU, 1000 to 54000
 * @extension_ns: signal extension: 6000 for all but CCK at 2.4 GHz, 0 at 5 GHz
 * @ru_tones: HE TB PPDU: tones of its resource unit (RU): 26, 52, 106, 242, 484,
 *	996, or 1992 for 2x996; 0: another PPDU
 * @ltfs: HE TB PPDU: HE-LTF symbols, the same for all RUs
 */
struct airsim_rate {
	enum airsim_format format;
	u8 mcs;
	u8 streams;
	u16 width_mhz;
	u16 gi_ns;
	u16 legacy_kbps;
	u16 extension_ns;
	u16 ru_tones;
	u8 ltfs;
};

/**
 * struct airsim_phy - characteristics of a PHY in a band
 * @sifs_ns: aSIFSTime
 * @slot_ns: aSlotTime
 * @extension_ns: signal extension of its OFDM PPDUs
 * @lowest_kbps: the lowest rate, to which EIFS refers
 */
struct airsim_phy {
	u32 sifs_ns;
	u32 slot_ns;
	u32 extension_ns;
	u16 lowest_kbps;
};

extern const struct airsim_phy airsim_phy_5ghz;
extern const struct airsim_phy airsim_phy_6ghz;
extern const struct airsim_phy airsim_phy_2ghz_short_slot;
extern const struct airsim_phy airsim_phy_2ghz_long_slot;

bool airsim_rate_valid(const struct airsim_rate *rate);
u32 airsim_bits_per_symbol(const struct airsim_rate *rate);
u32 airsim_symbol_ns(const struct airsim_rate *rate);
u8 airsim_ltfs(u8 streams);
u32 airsim_rate_kbps(const struct airsim_rate *rate);
u32 airsim_preamble_ns(const struct airsim_rate *rate);
u32 airsim_payload_ns(const struct airsim_rate *rate, u32 octets);
u32 airsim_ppdu_ns(const struct airsim_rate *rate, u32 psdu_octets);
u32 airsim_subframe_octets(u32 mpdu_octets);
u32 airsim_spacing_octets(const struct airsim_rate *rate, u8 density);
u32 airsim_blockack_octets(u16 window);
struct airsim_rate airsim_response_rate(const struct airsim_rate *rate,
					u16 basic_rates);
struct airsim_rate airsim_protection_rate(const struct airsim_rate *rate,
					  u16 basic_rates, bool cck);
u32 airsim_eifs_extra_ns(const struct airsim_phy *phy);

#endif
