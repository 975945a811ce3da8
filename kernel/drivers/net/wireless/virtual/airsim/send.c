// SPDX-License-Identifier: GPL-2.0-only
/* Sends PPDUs, and counts the airtime of what was sent. */
#include <linux/ieee80211.h>
#include <linux/math64.h>
#include "airsim.h"

/**
 * airsim_answer_timeout_ns - when the answer to a frame must have started
 * @radio: the radio that has sent it; the medium is locked
 * @now_ns: its end
 *
 * AckTimeout and CTSTimeout (10.3.2.11).
 */
u64 airsim_answer_timeout_ns(struct airsim_radio *radio, u64 now_ns)
{
	struct airsim_rate answer =
		airsim_response_rate(&radio->emission.rate,
				     airsim_basic_rates(radio));

	return now_ns + radio->phy->sifs_ns + radio->phy->slot_ns +
	       airsim_preamble_ns(&answer);
}

static void airsim_set_mpdu_ends(struct airsim_ppdu *ppdu, u64 start_ns)
{
	u64 data_ns = start_ns + airsim_preamble_ns(&ppdu->rate);
	u32 offset = 0;
	int i;

	for (i = 0; i < ppdu->count; i++) {
		u32 end = offset + airsim_mpdu_octets(ppdu->mpdu[i]);

		if (airsim_ppdu_is_ampdu(ppdu))
			end += AIRSIM_DELIMITER_OCTETS;
		ppdu->mpdu_end_ns[i] = data_ns +
				       airsim_payload_ns(&ppdu->rate, end);
		offset += ppdu->subframe_octets[i];
	}
}

/* An RTS without a CTS is no transmission of the MPDUs (9.2.4.1.6). */
static void airsim_mark_retries(struct airsim_radio *radio)
{
	struct airsim_ppdu *ppdu = &radio->ppdu;
	int i;

	for (i = 0; i < ppdu->count; i++) {
		struct ieee80211_hdr *hdr = (void *)ppdu->mpdu[i]->data;
		struct airsim_mpdu *mpdu = airsim_mpdu(ppdu->mpdu[i]);

		if (mpdu->sent) {
			hdr->frame_control |= cpu_to_le16(IEEE80211_FCTL_RETRY);
			radio->count.retries++;
		}
		mpdu->sent = true;
	}
}

static bool airsim_is_bar(const struct airsim_ppdu *ppdu)
{
	const struct ieee80211_hdr *hdr = (const void *)ppdu->mpdu[0]->data;

	return ieee80211_is_back_req(hdr->frame_control);
}

/**
 * airsim_send_ppdu - send the PPDU of a radio
 * @radio: the radio; the medium is locked; its @emission has the end of the PPDU
 *	and of the NAV
 * @to: receiver, or NULL
 * @now_ns: current time
 */
void airsim_send_ppdu(struct airsim_radio *radio, struct airsim_radio *to,
		      u64 now_ns)
{
	struct airsim_emission *emission = &radio->emission;
	struct airsim_ppdu *ppdu = &radio->ppdu;

	emission->frame = AIRSIM_PPDU;
	emission->to = to;
	emission->rate = ppdu->rate;
	emission->start_ns = now_ns;
	emission->trigger = ppdu->tb ? to->uplink.number : 0;
	airsim_set_mpdu_ends(ppdu, now_ns);
	airsim_mark_retries(radio);
	ppdu->next = 0;
	ppdu->arrived = 0;
	ppdu->reference = ++airsim_medium.reference;
	if (to && to->settings.ul_ofdma)
		ppdu->left = airsim_report_buffer(radio);
	radio->count.ppdus++;
	radio->count.tb_sent += ppdu->tb;
	/* Those of the radio itself and of mac80211. */
	radio->count.bar_sent += airsim_is_bar(ppdu);
	if (ppdu->queued)
		WRITE_ONCE(radio->tx_kbps, airsim_rate_kbps(&ppdu->rate));
	if (ppdu->octets[AIRSIM_KIND_DATA])
		airsim_medium.counters.ampdu_sizes[ppdu->count]++;
	airsim_transmit(radio);
}

/**
 * airsim_count_emission - count a frame that has ended
 * @radio: its transmitter; the medium is locked
 * @now_ns: current time
 */
void airsim_count_emission(struct airsim_radio *radio, u64 now_ns)
{
	const struct airsim_emission *emission = &radio->emission;
	struct airsim_medium *medium = &airsim_medium;
	u32 duration_ns = now_ns - emission->start_ns;

	if (emission->frame == AIRSIM_PPDU) {
		radio->count.tx_airtime_ns += duration_ns;
		if (radio->ppdu.sta) {
			radio->ppdu.sta->peer->tx_airtime_ns += duration_ns;
			radio->ppdu.sta->unreported_ns += duration_ns;
		}
	}
	if (!emission->collided) {
		radio->exchange.airtime_ns += duration_ns;
		return;
	}
	/* The PPDU after a CTS to itself shows whether the exchange collided. */
	radio->count.collided += radio->exchange.stage != AIRSIM_STAGE_CTS;
	medium->counters.collision_ns += now_ns -
		max(emission->start_ns,
		    min(medium->collided_until_ns, now_ns));
	medium->collided_until_ns = now_ns;
}

/**
 * airsim_count_airtime - count a complete exchange
 * @radio: the radio that has started it; the medium is locked; its PPDU has the
 *	octets by which the airtime is divided
 */
void airsim_count_airtime(const struct airsim_radio *radio)
{
	const struct airsim_ppdu *ppdu = &radio->ppdu;
	u64 octets = 0;
	int i;

	for (i = 0; i < AIRSIM_KINDS; i++)
		octets += ppdu->octets[i];
	for (i = 0; i < AIRSIM_KINDS; i++)
		airsim_medium.counters.airtime_ns[i] +=
			div64_u64(radio->exchange.airtime_ns * ppdu->octets[i],
				  octets);
}
