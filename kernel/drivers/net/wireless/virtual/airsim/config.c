// SPDX-License-Identifier: GPL-2.0-only
/* What a radio may be, and how it may be set. */
#include <linux/kernel.h>
#include <linux/log2.h>
#include "config.h"
#include "ranges.h"

const struct netlink_range_validation airsim_ampdu_mpdus_range = {
	.min = 1, .max = AIRSIM_MAX_MPDUS,
};

/* From one large A-MSDU to the longest A-MPDU of VHT (table 9-271). */
const struct netlink_range_validation airsim_ampdu_octets_range = {
	.min = 2048, .max = 1048575,
};

const struct netlink_range_validation airsim_ampdu_duration_us_range = {
	.min = 100, .max = AIRSIM_MAX_PPDU_NS / 1000,
};

const struct netlink_range_validation airsim_formed_ppdus_range = {
	.max = 8,
};

const struct netlink_range_validation airsim_fifo_mpdus_range = {
	.min = 1, .max = 65535,
};

const struct netlink_range_validation airsim_ack_hold_range = {
	.max = 65535,
};

const struct netlink_range_validation airsim_wait_us_range = {
	.max = 100000,
};

const struct netlink_range_validation airsim_ppm_range = {
	.max = 1000000,
};

const struct netlink_range_validation_signed airsim_tx_power_mdbm_range = {
	.min = -20000, .max = 40000,
};

/* 1000 km, at 1 km/s. */
const struct netlink_range_validation_signed airsim_place_mm_range = {
	.min = -1000000000, .max = 1000000000,
};

const struct netlink_range_validation_signed airsim_mm_per_s_range = {
	.min = -1000000, .max = 1000000,
};

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

	if (standard > AIRSIM_80211AX) {
		NL_SET_ERR_MSG(extack, "standard: 802.11a, g, n, ac and ax are allowed");
		return -EINVAL;
	}
	if (!hardware->streams || hardware->streams > most[standard].streams) {
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
	if (!hardware->ba_window ||
	    hardware->ba_window > most[standard].ba_window) {
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
	if (hardware->queueing > AIRSIM_QUEUE_FIFO) {
		NL_SET_ERR_MSG(extack, "queueing: txq and fifo are allowed");
		return -EINVAL;
	}
	return 0;
}

#define LIMIT(_member, _range) { \
	.name = #_member, \
	.offset = offsetof(struct airsim_settings, _member), \
	.range = &(_range), \
}

static const struct {
	const char *name;
	size_t offset;
	const struct netlink_range_validation *range;
} limits[] = {
	LIMIT(ampdu_mpdus, airsim_ampdu_mpdus_range),
	LIMIT(ampdu_octets, airsim_ampdu_octets_range),
	LIMIT(ampdu_duration_us, airsim_ampdu_duration_us_range),
	LIMIT(formed_ppdus, airsim_formed_ppdus_range),
	LIMIT(fifo_mpdus, airsim_fifo_mpdus_range),
	LIMIT(coalesce_mpdus, airsim_ampdu_mpdus_range),
	LIMIT(coalesce_us, airsim_wait_us_range),
	LIMIT(ack_hold, airsim_ack_hold_range),
	LIMIT(ack_hold_us, airsim_wait_us_range),
	LIMIT(gro_flush_us, airsim_wait_us_range),
	LIMIT(mpdu_error_ppm, airsim_ppm_range),
	LIMIT(response_error_ppm, airsim_ppm_range),
	LIMIT(burst.enter_ppm, airsim_ppm_range),
	LIMIT(burst.leave_ppm, airsim_ppm_range),
	LIMIT(burst.good_error_ppm, airsim_ppm_range),
	LIMIT(burst.bad_error_ppm, airsim_ppm_range),
};

static const struct {
	const char *name;
	size_t offset;
	const struct netlink_range_validation_signed *range;
} signed_limits[] = {
	LIMIT(tx_power_mdbm, airsim_tx_power_mdbm_range),
	LIMIT(place.x_mm, airsim_place_mm_range),
	LIMIT(place.y_mm, airsim_place_mm_range),
	LIMIT(place.vx_mm_per_s, airsim_mm_per_s_range),
	LIMIT(place.vy_mm_per_s, airsim_mm_per_s_range),
};

static int airsim_check_limits(const struct airsim_settings *settings,
			       struct netlink_ext_ack *extack)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		u32 value = *(u32 *)((void *)settings + limits[i].offset);

		if (value >= limits[i].range->min &&
		    value <= limits[i].range->max)
			continue;
		NL_SET_ERR_MSG_FMT(extack, "%s: %llu to %llu are allowed",
				   limits[i].name, limits[i].range->min,
				   limits[i].range->max);
		return -ERANGE;
	}
	for (i = 0; i < ARRAY_SIZE(signed_limits); i++) {
		s32 value = *(s32 *)((void *)settings +
				     signed_limits[i].offset);

		if (value >= signed_limits[i].range->min &&
		    value <= signed_limits[i].range->max)
			continue;
		NL_SET_ERR_MSG_FMT(extack, "%s: %lld to %lld are allowed",
				   signed_limits[i].name,
				   signed_limits[i].range->min,
				   signed_limits[i].range->max);
		return -ERANGE;
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

static int airsim_check_rate(const struct airsim_hardware *hardware,
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

/**
 * airsim_settings_check - whether a radio may be set so
 * @hardware: the radio
 * @settings: how it is to be set
 * @extack: says what is not allowed
 *
 * Return: 0, or -ERANGE or -EINVAL with a message.
 */
int airsim_settings_check(const struct airsim_hardware *hardware,
			  const struct airsim_settings *settings,
			  struct netlink_ext_ack *extack)
{
	int err = airsim_check_limits(settings, extack);

	if (err)
		return err;
	if (settings->hand_up > AIRSIM_HAND_UP_COALESCED) {
		NL_SET_ERR_MSG(extack, "hand_up: mpdu, ppdu and coalesced are allowed");
		return -EINVAL;
	}
	if (settings->errors > AIRSIM_ERRORS_BURST) {
		NL_SET_ERR_MSG(extack, "errors: fixed, snr and burst are allowed");
		return -EINVAL;
	}
	if (settings->rate_fixed)
		return airsim_check_rate(hardware, &settings->rate, extack);
	return 0;
}
