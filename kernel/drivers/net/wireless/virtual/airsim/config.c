// SPDX-License-Identifier: GPL-2.0-only
/* Constraints between attributes; the ranges are in <uapi/linux/airsim.h>. */
#include <linux/kernel.h>
#include <linux/log2.h>
#include "config.h"

/*
 * Maximum capabilities by amendment: 802.11-2020 clauses 17 to 19 and 21,
 * 802.11ax clause 27, 802.11be clause 36; BlockAck window: 9.3.1.8. Without
 * A-MPDUs the window is 1.
 */
static const struct {
	u16 width_mhz;
	u16 ba_window;
	u8 streams;
	bool amsdu;
} airsim_limits[] = {
	[AIRSIM_80211A] = { 20, 1, 1, false },
	[AIRSIM_80211G] = { 20, 1, 1, false },
	[AIRSIM_80211N] = { 40, 64, 4, true },
	[AIRSIM_80211AC] = { 160, 64, 4, true },
	[AIRSIM_80211AX] = { 160, 256, 4, true },
	[AIRSIM_80211BE] = { 320, 1024, 4, true },
};

static bool airsim_is_width(u16 mhz)
{
	return mhz == 20 || mhz == 40 || mhz == 80 || mhz == 160 || mhz == 320;
}

/* Table 9-184. */
static bool airsim_is_spacing(u16 ns)
{
	return !ns || (ns >= 250 && ns <= 16000 && ns % 250 == 0 &&
		       is_power_of_2(ns / 250));
}

/**
 * airsim_default_spacing_ns - Minimum MPDU Start Spacing of the generic radio
 * @standard: newest amendment that it supports
 *
 * Return: that of ath9k for 802.11n, none for later amendments: ath11k and
 * rtw89 require none.
 */
u16 airsim_default_spacing_ns(enum airsim_standard standard)
{
	return standard == AIRSIM_80211N ? 8000 : 0;
}

/**
 * airsim_hardware_check - check the capabilities of a new radio
 * @hardware: radio capabilities
 * @extack: reports what is allowed
 *
 * Return: 0, or -EINVAL with a message.
 */
int airsim_hardware_check(const struct airsim_hardware *hardware,
			  struct netlink_ext_ack *extack)
{
	enum airsim_standard standard = hardware->standard;

	if (hardware->streams > airsim_limits[standard].streams) {
		NL_SET_ERR_MSG_FMT(extack, "streams: 1 to %u are allowed with this standard",
				   airsim_limits[standard].streams);
		return -EINVAL;
	}
	if (!airsim_is_width(hardware->width_mhz) ||
	    hardware->width_mhz > airsim_limits[standard].width_mhz) {
		NL_SET_ERR_MSG_FMT(extack,
				   "width_mhz: 20, 40, 80, 160 or 320, at most %u with this standard",
				   airsim_limits[standard].width_mhz);
		return -EINVAL;
	}
	if (hardware->ba_window > airsim_limits[standard].ba_window) {
		NL_SET_ERR_MSG_FMT(extack, "ba_window: 1 to %u are allowed with this standard",
				   airsim_limits[standard].ba_window);
		return -EINVAL;
	}
	if (!airsim_is_spacing(hardware->mpdu_spacing_ns)) {
		NL_SET_ERR_MSG(extack, "mpdu_spacing_ns: 0 or 250 times a power of 2, up to 16000");
		return -EINVAL;
	}
	if (hardware->amsdu && !airsim_limits[standard].amsdu) {
		NL_SET_ERR_MSG(extack, "amsdu: requires 802.11n or newer");
		return -EINVAL;
	}
	return 0;
}

/* The amendment that introduced each format. */
static const enum airsim_standard airsim_format_standard[] = {
	[AIRSIM_CCK] = AIRSIM_80211G,
	[AIRSIM_OFDM] = AIRSIM_80211A,
	[AIRSIM_HT] = AIRSIM_80211N,
	[AIRSIM_VHT] = AIRSIM_80211AC,
	[AIRSIM_HE] = AIRSIM_80211AX,
	[AIRSIM_EHT] = AIRSIM_80211BE,
};

/**
 * airsim_rate_check - whether a radio supports a fixed rate
 * @hardware: radio capabilities
 * @rate: the rate
 * @extack: reports what is allowed
 *
 * Return: 0, or -EINVAL with a message.
 */
int airsim_rate_check(const struct airsim_hardware *hardware,
		      const struct airsim_rate *rate,
		      struct netlink_ext_ack *extack)
{
	if (!airsim_rate_valid(rate)) {
		NL_SET_ERR_MSG(extack, "rate: not defined for this rate_format");
		return -EINVAL;
	}
	if (hardware->standard < airsim_format_standard[rate->format]) {
		NL_SET_ERR_MSG(extack, "rate_format: not supported by the radio's standard");
		return -EINVAL;
	}
	if (rate->streams > hardware->streams) {
		NL_SET_ERR_MSG_FMT(extack, "rate_streams: the radio supports %u",
				   hardware->streams);
		return -EINVAL;
	}
	if (rate->width_mhz > hardware->width_mhz) {
		NL_SET_ERR_MSG_FMT(extack, "rate_width_mhz: the radio supports %u",
				   hardware->width_mhz);
		return -EINVAL;
	}
	return 0;
}
