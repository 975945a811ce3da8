// SPDX-License-Identifier: GPL-2.0-only
/* What a radio may be, and how it may be set. */
#include <linux/kernel.h>
#include <linux/log2.h>
#include "config.h"

/*
 * Most that each amendment allows: 802.11-2020 clauses 17 to 19 and 21,
 * 802.11ax clause 27; the window of the BlockAck: 9.3.1.8. Without A-MPDUs
 * there is no window.
 */
static const struct {
	u16 width_mhz;
	u16 ba_window;
	u8 streams;
	bool amsdu;
} most[] = {
	[AIRSIM_80211A] = { 20, 1, 1, false },
	[AIRSIM_80211G] = { 20, 1, 1, false },
	[AIRSIM_80211N] = { 40, 64, 4, true },
	[AIRSIM_80211AC] = { 160, 64, 4, true },
	[AIRSIM_80211AX] = { 160, 256, 4, true },
};

static bool airsim_is_width(u16 mhz)
{
	return mhz == 20 || mhz == 40 || mhz == 80 || mhz == 160;
}

/* Table 9-184. */
static bool airsim_is_spacing(u16 ns)
{
	return !ns || (ns >= 250 && ns <= 16000 && ns % 250 == 0 &&
		       is_power_of_2(ns / 250));
}

/**
 * airsim_usual_spacing_ns - Minimum MPDU Start Spacing of no device in particular
 * @standard: newest amendment that it speaks
 *
 * Return: that of ath9k with 802.11n, none with what is newer: ath11k and rtw89
 * ask for none.
 */
u16 airsim_usual_spacing_ns(enum airsim_standard standard)
{
	return standard == AIRSIM_80211N ? 8000 : 0;
}

/**
 * airsim_hardware_check - whether there may be such a radio
 * @hardware: what it is to be
 * @extack: says what is not allowed
 *
 * Return: 0, or -EINVAL with a message.
 */
int airsim_hardware_check(const struct airsim_hardware *hardware,
			  struct netlink_ext_ack *extack)
{
	enum airsim_standard standard = hardware->standard;

	if (hardware->streams > most[standard].streams) {
		NL_SET_ERR_MSG_FMT(extack, "streams: this standard allows 1 to %u",
				   most[standard].streams);
		return -EINVAL;
	}
	if (!airsim_is_width(hardware->width_mhz) ||
	    hardware->width_mhz > most[standard].width_mhz) {
		NL_SET_ERR_MSG_FMT(extack, "width_mhz: 20, 40, 80, 160; this standard up to %u",
				   most[standard].width_mhz);
		return -EINVAL;
	}
	if (hardware->ba_window > most[standard].ba_window) {
		NL_SET_ERR_MSG_FMT(extack, "ba_window: this standard allows 1 to %u",
				   most[standard].ba_window);
		return -EINVAL;
	}
	if (!airsim_is_spacing(hardware->mpdu_spacing_ns)) {
		NL_SET_ERR_MSG(extack, "mpdu_spacing_ns: 0, 250, 500, ... to 16000 are allowed");
		return -EINVAL;
	}
	if (hardware->amsdu && !most[standard].amsdu) {
		NL_SET_ERR_MSG(extack, "amsdu: allowed from 802.11n on");
		return -EINVAL;
	}
	return 0;
}

/* The standard that brought each format. */
static const enum airsim_standard since[] = {
	[AIRSIM_CCK] = AIRSIM_80211G,
	[AIRSIM_OFDM] = AIRSIM_80211A,
	[AIRSIM_HT] = AIRSIM_80211N,
	[AIRSIM_VHT] = AIRSIM_80211AC,
	[AIRSIM_HE] = AIRSIM_80211AX,
};

/**
 * airsim_rate_check - whether a radio supports a fixed rate
 * @hardware: radio capabilities
 * @rate: the rate
 * @extack: says what is not allowed
 *
 * Return: 0, or -EINVAL with a message.
 */
int airsim_rate_check(const struct airsim_hardware *hardware,
		      const struct airsim_rate *rate,
		      struct netlink_ext_ack *extack)
{
	if (!airsim_rate_valid(rate)) {
		NL_SET_ERR_MSG(extack, "rate: rate_format has no such rate");
		return -EINVAL;
	}
	if (hardware->standard < since[rate->format]) {
		NL_SET_ERR_MSG(extack, "rate_format: newer than the radio's standard");
		return -EINVAL;
	}
	if (rate->streams > hardware->streams) {
		NL_SET_ERR_MSG_FMT(extack, "rate_streams: the radio has %u",
				   hardware->streams);
		return -EINVAL;
	}
	if (rate->width_mhz > hardware->width_mhz) {
		NL_SET_ERR_MSG_FMT(extack, "rate_width_mhz: the radio has %u",
				   hardware->width_mhz);
		return -EINVAL;
	}
	return 0;
}
