// SPDX-License-Identifier: GPL-2.0-only
/*
 * Radios of the field, named as in the measurements that used them:
 *
 * [TSQ] C. A. Grazia, N. Patriciello, T. Hoiland-Jorgensen, M. Klapez,
 *	M. Casoni, "Aggregating Without Bloating: Hard Times for TCP on Wi-Fi":
 *	ar9271, ar9580, ar5bhb116, qca6178
 * [AAD] A. Avkhadeev, "Performance Evaluation of Delayed Acknowledgment in
 *	TCP over Wi-Fi", thesis, 2025: tl-wdr4300
 * [ACK] A. Statkus, "Performance Investigation of Data Packets Transport
 *	Control Protocol in Heterogeneous Networks", dissertation, 2017:
 *	wifi-11a
 *
 * What they do not say comes from the drivers in Linux 6.12, named with each.
 */
#include <linux/kernel.h>
#include <linux/string.h>
#include "config.h"

#define DEFAULTS \
	AIRSIM_DEFAULTS(AIRSIM_SETTINGS) \
	.rate = { AIRSIM_DEFAULTS(AIRSIM_RATE) }

/*
 * ath9k. [TSQ], table I: aggregates last 4 ms at most, which is
 * ath_lookup_rate(); its uplink aggregates 32 packets (figure 8), which is half
 * the BlockAck window in ath_tx_form_aggr(). When no BlockAck comes,
 * ath_tx_complete_aggr() queues the whole aggregate again; only for MPDUs that
 * it gives up does it call ath_send_bar(). ath_txq_schedule() forms aggregates
 * as long as fewer than ATH_AGGR_MIN_QDEPTH (2) are with the hardware.
 * ath9k_cmn_setup_ht_cap(), for ath9k_htc too, asks for 8 us between the starts
 * of MPDUs.
 */
#define ATH9K_SETTINGS { \
	DEFAULTS, \
	.ampdu_mpdus = 32, \
	.ampdu_octets = 65535, \
	.ampdu_duration_us = 4000, \
	.bar = false, \
	.formed_ppdus = 2, \
}

/* The first is the default. */
static const struct airsim_preset airsim_presets[] = {
	{
		/* No device: the most that 802.11ax and this driver allow. */
		.name = "generic",
		.hardware = { AIRSIM_DEFAULTS(AIRSIM_HARDWARE) },
		.settings = { DEFAULTS },
	},
	{
		/*
		 * [TSQ]: 1x1, 150 Mbit/s (40 MHz, short guard interval), USB.
		 * ath9k_htc takes packets until ATH9K_HTC_TX_THRESHOLD (246)
		 * are underway: its TXQs are emptied at once. The firmware
		 * (open-ath9k-htc-firmware, if_owl.c) aggregates 17 packets or
		 * 4 ms at most: ath_tgt_tx_form_aggr(), ath_lookup_rate(). It
		 * sends again like ath9k: ath_tx_comp_aggr_error().
		 */
		.name = "ar9271",
		.hardware = {
			.standard = AIRSIM_80211N,
			.streams = 1,
			.width_mhz = 40,
			.ba_window = 64,
			.mpdu_spacing_ns = 8000,
			.queueing = AIRSIM_QUEUE_FIFO,
		},
		.settings = {
			DEFAULTS,
			.ampdu_mpdus = 17,
			.ampdu_octets = 65535,
			.ampdu_duration_us = 4000,
			.bar = false,
			.fifo_mpdus = 246,
		},
	},
	{
		/* [TSQ]: 3x3, PCIe. */
		.name = "ar9580",
		.hardware = {
			.standard = AIRSIM_80211N,
			.streams = 3,
			.width_mhz = 40,
			.ba_window = 64,
			.mpdu_spacing_ns = 8000,
			.queueing = AIRSIM_QUEUE_TXQ,
		},
		.settings = ATH9K_SETTINGS,
	},
	{
		/* [TSQ]: 2x2, PCIe; 200 Mbit/s of TCP at most. */
		.name = "ar5bhb116",
		.hardware = {
			.standard = AIRSIM_80211N,
			.streams = 2,
			.width_mhz = 40,
			.ba_window = 64,
			.mpdu_spacing_ns = 8000,
			.queueing = AIRSIM_QUEUE_TXQ,
		},
		.settings = ATH9K_SETTINGS,
	},
	{
		/*
		 * [TSQ]: 2x2, 80 MHz, PCIe; 400 Mbit/s of TCP at most. Its
		 * driver has no FQ-CoDel: packets for one flow delay those of
		 * another. ath10k knows no QCA6178; its 2x2 chips, the QCA6174,
		 * run firmware for which it queues TARGET_TLV_NUM_MSDU_DESC
		 * (1056). ATH10K_HTT_MAX_NUM_AMPDU_DEFAULT is 64, and
		 * ath10k_get_ht_cap() asks for 8 us between the starts of
		 * MPDUs; the rest is the firmware's, unknown: the standard's
		 * limits.
		 */
		.name = "qca6178",
		.hardware = {
			.standard = AIRSIM_80211AC,
			.streams = 2,
			.width_mhz = 80,
			.ba_window = 64,
			.mpdu_spacing_ns = 8000,
			.queueing = AIRSIM_QUEUE_FIFO,
		},
		.settings = {
			DEFAULTS,
			.ampdu_mpdus = 64,
			.fifo_mpdus = 1056,
		},
	},
	{
		/*
		 * [AAD]: 5 GHz, 40 MHz, two streams (the thesis fixes MCS 13
		 * with the short guard interval), OpenWrt, whose driver for
		 * this access point is ath9k.
		 */
		.name = "tl-wdr4300",
		.hardware = {
			.standard = AIRSIM_80211N,
			.streams = 2,
			.width_mhz = 40,
			.ba_window = 64,
			.mpdu_spacing_ns = 8000,
			.queueing = AIRSIM_QUEUE_TXQ,
		},
		.settings = ATH9K_SETTINGS,
	},
	{
		/*
		 * [ACK]: 802.11a, Linux 2.6.32, which had no TXQs: a FIFO; of
		 * 1000 packets, its default for an interface.
		 */
		.name = "wifi-11a",
		.hardware = {
			.standard = AIRSIM_80211A,
			.streams = 1,
			.width_mhz = 20,
			.ba_window = 1,
			.queueing = AIRSIM_QUEUE_FIFO,
		},
		.settings = {
			DEFAULTS,
			.ampdu_mpdus = 1,
			.ampdu_octets = 65535,
			.bar = false,
			.fifo_mpdus = 1000,
		},
	},
};

/**
 * airsim_preset_at - the presets, one after the other
 * @index: from 0
 *
 * Return: the preset, or NULL after the last.
 */
const struct airsim_preset *airsim_preset_at(unsigned int index)
{
	return index < ARRAY_SIZE(airsim_presets) ? &airsim_presets[index] :
						    NULL;
}

/**
 * airsim_preset_find - a preset
 * @name: its name
 *
 * Return: the preset, or NULL when there is none.
 */
const struct airsim_preset *airsim_preset_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(airsim_presets); i++)
		if (!strcmp(airsim_presets[i].name, name))
			return &airsim_presets[i];
	return NULL;
}
