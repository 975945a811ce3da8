// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes the MPDUs of a PPDU after its exchange: they are done, with their
 * status for mac80211, or sent again.
 */
#include <linux/etherdevice.h>
#include <linux/ieee80211.h>
#include "airsim.h"

/*
 * Rates of an MPDU's transmissions. In a BlockAck session they are reported per
 * PPDU; otherwise the rate series is still in the skb.
 */
static void airsim_mpdu_set_rates(struct airsim_radio *radio,
				  struct sk_buff *skb)
{
	struct ieee80211_tx_info *info = IEEE80211_SKB_CB(skb);
	struct ieee80211_tx_rate *series = info->status.rates;
	u8 counts[IEEE80211_TX_MAX_RATES];
	u8 left = airsim_mpdu(skb)->attempts;
	int i;

	for (i = 0; i < IEEE80211_TX_MAX_RATES; i++)
		counts[i] = series[i].count;
	ieee80211_tx_info_clear_status(info);
	if (info->flags & IEEE80211_TX_CTL_AMPDU || radio->ppdu.tb ||
	    radio->settings.rate_fixed) {
		series[0] = radio->ppdu.chosen;
		counts[0] = left;
	}
	for (i = 0; i < IEEE80211_TX_MAX_RATES - 1; i++) {
		if (left <= counts[i] || series[i + 1].idx < 0)
			break;
		series[i].count = counts[i];
		left -= counts[i];
	}
	series[i].count = left;
	if (i + 1 < IEEE80211_TX_MAX_RATES)
		series[i + 1].idx = -1;
}

static void airsim_mpdu_set_status(struct airsim_radio *radio,
				   struct sk_buff *skb, bool acked)
{
	struct ieee80211_tx_info *info = IEEE80211_SKB_CB(skb);

	airsim_mpdu_set_rates(radio, skb);
	if (acked && airsim_mpdu_needs_response(skb)) {
		info->flags |= IEEE80211_TX_STAT_ACK;
		radio->count.acked++;
	} else if (acked) {
		info->flags |= IEEE80211_TX_STAT_NOACK_TRANSMITTED;
		radio->count.unanswerable++;
	} else {
		if (radio->ppdu.queued && !radio->ppdu.txq)
			radio->count.dropped_queue_gone++;
		else
			radio->count.dropped_retries++;
	}
}

/* Requeue for another attempt, at rates chosen then. */
static void airsim_mpdu_requeue(struct sk_buff *skb,
				struct sk_buff_head *origin)
{
	struct ieee80211_tx_info *info = IEEE80211_SKB_CB(skb);
	int i;

	if (info->flags & IEEE80211_TX_CTL_AMPDU)
		for (i = 0; i < IEEE80211_TX_MAX_RATES; i++)
			info->control.rates[i].idx = -1;
	info->flags &= ~IEEE80211_TX_CTL_RATE_CTRL_PROBE;
	__skb_queue_head(origin, skb);
}

static void airsim_report_begin(struct airsim_radio *radio,
				struct airsim_report *report)
{
	struct airsim_ppdu *ppdu = &radio->ppdu;
	struct sk_buff *first = ppdu->mpdu[0];
	const struct ieee80211_hdr *hdr = (const void *)first->data;

	report->radio = radio;
	report->ac = ppdu->ac;
	ether_addr_copy(report->receiver, hdr->addr1);
	ether_addr_copy(report->sender, hdr->addr2);
	report->qos = ieee80211_is_data_qos(hdr->frame_control);
	report->tid = report->qos ? ieee80211_get_tid((void *)hdr) : 0;
	report->airtime_us = 0;
	if (ppdu->sta) {
		report->airtime_us = ppdu->sta->unreported_ns / 1000;
		ppdu->sta->unreported_ns %= 1000;
		/* A BlockAckReq is no QoS data, but counts for its category. */
		report->tid = ppdu->txq->tid;
	}
	report->session = IEEE80211_SKB_CB(first)->flags &
			  IEEE80211_TX_CTL_AMPDU;
	report->probe = ppdu->probe;
	report->chosen = ppdu->chosen;
	report->rate = ppdu->rate;
	report->mpdus = ppdu->count;
	report->acked = 0;
}

static void airsim_count_unanswered(struct airsim_txq *atxq, bool answered)
{
	atxq->unanswered = answered ? 0 : min(atxq->unanswered + 1, U8_MAX);
}

static void airsim_bar_settle(struct airsim_radio *radio,
			      struct sk_buff_head *done, bool answered)
{
	struct airsim_ppdu *ppdu = &radio->ppdu;
	struct sk_buff *skb, *next;
	struct airsim_txq *atxq;

	dev_kfree_skb_any(ppdu->mpdu[0]);
	if (!ppdu->txq)
		return;
	atxq = airsim_txq(ppdu->txq);
	airsim_count_unanswered(atxq, answered);
	atxq->bar_due = !answered &&
			atxq->unanswered < airsim_retry_limit(radio);
	if (!answered)
		return;
	skb_queue_walk_safe(&atxq->pending, skb, next) {
		if (!airsim_mpdu(skb)->received)
			continue;
		__skb_unlink(skb, &atxq->pending);
		radio->fifo_mpdus -= !!radio->fifo_mpdus;
		airsim_mpdu_set_status(radio, skb, true);
		__skb_queue_tail(done, skb);
	}
	airsim_txq_list_pending(radio, ppdu->txq);
}

/*
 * Of the MPDUs of a PPDU that a BlockAck session gives up, only the last is
 * reported, so that mac80211 sends one BlockAckReq to move the receiver's
 * window. One BlockAckReq for each, in separate TXOPs, would arrive after the
 * window has moved by half the sequence number space, and the receiver would
 * take the following MPDUs for old ones.
 */
static void airsim_request_bar(struct sk_buff *skb, bool *requested)
{
	struct ieee80211_tx_info *info = IEEE80211_SKB_CB(skb);

	if (*requested || !(info->flags & IEEE80211_TX_CTL_AMPDU))
		return;
	info->flags |= IEEE80211_TX_STAT_AMPDU_NO_BACK;
	*requested = true;
}

/* In a BlockAck session drivers have limits of their own. */
static bool airsim_mpdu_may_retry(const struct airsim_radio *radio,
				  struct sk_buff *skb)
{
	u8 limit = IEEE80211_SKB_CB(skb)->flags & IEEE80211_TX_CTL_AMPDU ?
		   radio->settings.retry_limit : airsim_retry_limit(radio);

	return airsim_mpdu(skb)->attempts < limit;
}

static void airsim_settle_mpdus(struct airsim_radio *radio,
				struct sk_buff_head *done, bool answered)
{
	struct airsim_report *report = &airsim_medium.report;
	struct airsim_ppdu *ppdu = &radio->ppdu;
	struct sk_buff_head *origin = NULL;
	bool requested = false;
	int i;

	if (ppdu->txq)
		origin = &airsim_txq(ppdu->txq)->pending;
	else if (!ppdu->queued)
		origin = &radio->frames[ppdu->ac];
	for (i = ppdu->count - 1; i >= 0; i--) {
		struct sk_buff *skb = ppdu->mpdu[i];
		struct airsim_mpdu *mpdu = airsim_mpdu(skb);
		bool acked = !airsim_mpdu_needs_response(skb) ||
			     (answered && mpdu->received);

		report->acked += acked;
		if (!acked && origin && airsim_mpdu_may_retry(radio, skb)) {
			airsim_mpdu_requeue(skb, origin);
			continue;
		}
		if (ppdu->queued)
			radio->fifo_mpdus -= !!radio->fifo_mpdus;
		if (!acked)
			airsim_request_bar(skb, &requested);
		airsim_mpdu_set_status(radio, skb, acked);
		__skb_queue_head(done, skb);
	}
}

/**
 * airsim_ppdu_settle - process the MPDUs of a finished exchange
 * @radio: the radio; the medium is locked
 * @answered: the response was received, or none was expected
 *
 * Acknowledged and dropped MPDUs go into the medium's report, the others back
 * to their queue, in order. An RTS without a CTS is reported like a PPDU without
 * a response, for which mac80211 has no other status.
 */
void airsim_ppdu_settle(struct airsim_radio *radio, bool answered)
{
	struct airsim_report *report = &airsim_medium.report;
	struct airsim_ppdu *ppdu = &radio->ppdu;
	struct airsim_txq *atxq;

	if (ppdu->null) {
		dev_kfree_skb_any(ppdu->mpdu[0]);
		return;
	}
	airsim_report_begin(radio, report);
	if (ppdu->bar)
		return airsim_bar_settle(radio, &report->done, answered);
	airsim_settle_mpdus(radio, &report->done, answered);
	if (!ppdu->txq)
		return;
	atxq = airsim_txq(ppdu->txq);
	airsim_count_unanswered(atxq, answered);
	atxq->bar_due = !answered && radio->settings.bar &&
			ppdu->response == AIRSIM_RESPONSE_BLOCKACK &&
			radio->exchange.stage == AIRSIM_STAGE_PPDU &&
			!skb_queue_empty(&atxq->pending);
	airsim_txq_list_pending(radio, ppdu->txq);
}
