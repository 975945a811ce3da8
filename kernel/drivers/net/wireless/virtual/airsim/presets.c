// SPDX-License-Identifier: GPL-2.0-only
/*
 * Radios of existing hardware, named as in the measurements that used them:
 *
 * [TSQ] C. A. Grazia, N. Patriciello, T. Hoiland-Jorgensen, M. Klapez,
 *	M. Casoni, "Aggregating Without Bloating: Hard Times for TCP on Wi-Fi":
 *	ar9271, ar9580, ar5bhb116, qca6178
 * [RUNS] 4ry1337, "TCP-AAD-Tests", public repository, 2025:
 *	tl-wdr4300-calibrated
 * [AAD] A. Avkhadeev, "Performance Evaluation of Delayed Acknowledgment in
 *	TCP over Wi-Fi", thesis, 2025: tl-wdr4300
 * [ACK] A. Statkus, "Performance Investigation of Data Packets Transport
 *	Control Protocol in Heterogeneous Networks", dissertation, 2017:
 *	wifi-11a
 *
 * Values that these do not state are from the drivers in Linux 6.12, as
 * referenced at each.
 */
#include <linux/kernel.h>
#include <linux/string.h>
#include "config.h"

/* mac80211's default, fq_init(). */
#define TXQ_LIMIT	8192

#define DEFAULTS \
	AIRSIM_DEFAULTS(AIRSIM_SETTINGS) \
	.rate = { AIRSIM_DEFAULTS(AIRSIM_RATE) }

/*
 * ath9k. [TSQ], table I: aggregates last at most 4 ms, which is the limit in
 * ath_lookup_rate(); its uplink aggregates have 32 packets (figure 8), which is
 * half the BlockAck window in ath_tx_form_aggr(). If no BlockAck is received,
 * ath_tx_complete_aggr() requeues the whole aggregate; it calls ath_send_bar()
 * only for MPDUs that it drops, after ATH_MAX_SW_RETRIES (30) retries.
 * ath_txq_schedule() forms aggregates while the hardware has fewer than
 * ATH_AGGR_MIN_QDEPTH (2). ath9k_cmn_setup_ht_cap(), also used by ath9k_htc,
 * requires 8 us between the starts of MPDUs.
 */
#define ATH9K_SETTINGS \
	DEFAULTS, \
	.ampdu_mpdus = 32, \
	.ampdu_octets = 65535, \
	.ampdu_duration_us = 4000, \
	.bar = false, \
	.retry_limit = 31, \
	.formed_ppdus = 2

/*
 * ath9k_hw_init_config(): AR9300 and later delay the interrupt for received
 * frames until 500 us after the last (rimt_last), at most 2 ms after the first
 * (rimt_first). The interrupt for sent frames is not delayed, and its handler
 * takes what has been received, too: ar9003_hw_get_isr().
 */
#define ATH9K_INTERRUPTS \
	.rx_delivery = AIRSIM_RX_DELIVERY_COALESCED, \
	.coalesce_mpdus = AIRSIM_MAX_MPDUS, \
	.coalesce_us = 2000, \
	.coalesce_idle_us = 500, \
	.coalesce_tx = true

/* The first is the default. */
static const struct airsim_preset airsim_presets[] = {
	{
		/* No device: the maximum of 802.11ax, or of what is given. */
		.name = "generic",
		.hardware = { AIRSIM_DEFAULTS(AIRSIM_HARDWARE) },
		.settings = { DEFAULTS },
	},
	{
		/*
		 * [TSQ]: 1x1, 150 Mbit/s (40 MHz, short guard interval), USB.
		 * ath9k_htc accepts packets until ATH9K_HTC_TX_THRESHOLD (246)
		 * are in flight, so its TXQs are drained at once. The firmware
		 * (open-ath9k-htc-firmware, if_owl.c) aggregates at most 17
		 * packets or 4 ms: ath_tgt_tx_form_aggr(), ath_lookup_rate().
		 * It retransmits like ath9k, but an MPDU at most OWLMAX_RETRIES
		 * (10) times: ath_tx_comp_aggr_error(), ath_tx_retry_subframe().
		 */
		.name = "ar9271",
		.hardware = {
			.standard = AIRSIM_80211N,
			.streams = 1,
			.width_mhz = 40,
			.ba_window = 64,
			.mpdu_spacing_ns = 8000,
			.txq_limit = TXQ_LIMIT,
			.queueing = AIRSIM_QUEUE_FIFO,
		},
		.settings = {
			DEFAULTS,
			.ampdu_mpdus = 17,
			.ampdu_octets = 65535,
			.ampdu_duration_us = 4000,
			.bar = false,
			.retry_limit = 11,
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
			.txq_limit = TXQ_LIMIT,
			.queueing = AIRSIM_QUEUE_TXQ,
		},
		.settings = { ATH9K_SETTINGS, ATH9K_INTERRUPTS },
	},
	{
		/* [TSQ]: 2x2, PCIe; at most 200 Mbit/s of TCP. */
		.name = "ar5bhb116",
		.hardware = {
			.standard = AIRSIM_80211N,
			.streams = 2,
			.width_mhz = 40,
			.ba_window = 64,
			.mpdu_spacing_ns = 8000,
			.txq_limit = TXQ_LIMIT,
			.queueing = AIRSIM_QUEUE_TXQ,
		},
		.settings = { ATH9K_SETTINGS, ATH9K_INTERRUPTS },
	},
	{
		/*
		 * [TSQ]: 2x2, 80 MHz, PCIe; at most 400 Mbit/s of TCP. Its
		 * driver has no FQ-CoDel: packets of one flow delay those of
		 * another. ath10k does not know a QCA6178; for the firmware of
		 * its 2x2 chips, QCA6174, it queues TARGET_TLV_NUM_MSDU_DESC
		 * (1056). ATH10K_HTT_MAX_NUM_AMPDU_DEFAULT is 64, and
		 * ath10k_get_ht_cap() requires 8 us between the starts of
		 * MPDUs. The rest depends on the firmware and is not known: the
		 * limits of the standard.
		 */
		.name = "qca6178",
		.hardware = {
			.standard = AIRSIM_80211AC,
			.streams = 2,
			.width_mhz = 80,
			.ba_window = 64,
			.mpdu_spacing_ns = 8000,
			.txq_limit = TXQ_LIMIT,
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
		 * with the short guard interval), OpenWrt, which uses ath9k for
		 * this access point.
		 */
		.name = "tl-wdr4300",
		.hardware = {
			.standard = AIRSIM_80211N,
			.streams = 2,
			.width_mhz = 40,
			.ba_window = 64,
			.mpdu_spacing_ns = 8000,
			.txq_limit = TXQ_LIMIT,
			.queueing = AIRSIM_QUEUE_TXQ,
		},
		.settings = { ATH9K_SETTINGS },
	},
	{
		/*
		 * The same, with four numbers fitted to [RUNS], which were
		 * measured with this access point; both ends of the link have
		 * them. ath9k delays the interrupt for received frames until
		 * 500 us after the last (rimt_last), half of which is at each
		 * end here. Aggregates of 32767 octets: a station whose maximum
		 * A-MPDU length exponent is 2. 256 packets wait at most, at a
		 * place that is not known. See docs/explanation/hardware.md.
		 */
		.name = "tl-wdr4300-calibrated",
		.hardware = {
			.standard = AIRSIM_80211N,
			.streams = 2,
			.width_mhz = 40,
			.ba_window = 64,
			.mpdu_spacing_ns = 8000,
			.txq_limit = 256,
			.queueing = AIRSIM_QUEUE_TXQ,
		},
		.settings = {
			DEFAULTS,
			.ampdu_mpdus = 32,
			.ampdu_octets = 32767,
			.ampdu_duration_us = 4000,
			.bar = false,
			.retry_limit = 31,
			.formed_ppdus = 2,
			.rx_delivery = AIRSIM_RX_DELIVERY_COALESCED,
			.coalesce_mpdus = 256,
			.coalesce_us = 250,
		},
	},
	{
		/*
		 * [ACK]: 802.11a, Linux 2.6.32, which had no TXQs: a FIFO of
		 * 1000 packets, the default length of an interface's queue.
		 */
		.name = "wifi-11a",
		.hardware = {
			.standard = AIRSIM_80211A,
			.streams = 1,
			.width_mhz = 20,
			.ba_window = 1,
			.txq_limit = TXQ_LIMIT,
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
 * airsim_preset_at - iterate over the presets
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
 * airsim_preset_find - find a preset by name
 * @name: its name
 *
 * Return: the preset, or NULL if there is none.
 */
const struct airsim_preset *airsim_preset_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(airsim_presets); i++)
		if (!strcmp(airsim_presets[i].name, name))
			return &airsim_presets[i];
	return NULL;
}
