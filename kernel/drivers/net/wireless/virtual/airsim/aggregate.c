// SPDX-License-Identifier: GPL-2.0-only
/*
 * Builds PPDUs from mac80211's queues and settles them when their answer has
 * come, or has not.
 *
 * A PPDU is built at the moment that its access category wins the medium, so
 * that everything queued by then can be aggregated. MPDUs taken from mac80211
 * that did not fit, or were not acknowledged, wait in their queue's pending
 * list, in order of sequence number, and go first next time.
 */
#include <linux/etherdevice.h>
#include <linux/ieee80211.h>
#include "airsim.h"

/**
 * airsim_txq_init - prepare the driver's part of a transmit queue
 * @txq: mac80211's queue
 */
void airsim_txq_init(struct ieee80211_txq *txq)
{
	struct airsim_txq *own = airsim_txq(txq);

	__skb_queue_head_init(&own->pending);
	INIT_LIST_HEAD(&own->retry_list);
	own->txq = txq;
}

/**
 * airsim_txq_forget - let go of a queue that is about to disappear
 * @radio: the radio, its medium locked
 * @txq: the queue
 * @done: gets its pending MPDUs
 */
void airsim_txq_forget(struct airsim_radio *radio, struct ieee80211_txq *txq,
		       struct sk_buff_head *done)
{
	struct airsim_txq *own = airsim_txq(txq);

	skb_queue_splice_tail_init(&own->pending, done);
	list_del_init(&own->retry_list);
	if (radio->ppdu.txq == txq)
		radio->ppdu.txq = NULL;
}

static void read_rate(struct airsim_radio *radio, struct sk_buff *skb,
		      struct airsim_rate *rate)
{
	struct ieee80211_tx_info *info = IEEE80211_SKB_CB(skb);
	const struct ieee80211_tx_rate *chosen = &info->control.rates[0];

	*rate = (struct airsim_rate){ .format = AIRSIM_LEGACY,
				      .legacy_kbps = 6000 };
	if (chosen->flags & IEEE80211_TX_RC_MCS) {
		rate->format = AIRSIM_HT;
		rate->mcs = chosen->idx;
		rate->ht40 = chosen->flags & IEEE80211_TX_RC_40_MHZ_WIDTH;
		rate->short_gi = chosen->flags & IEEE80211_TX_RC_SHORT_GI;
	} else if (chosen->idx >= 0 &&
		   chosen->idx < radio->supported.n_bitrates) {
		rate->legacy_kbps =
			radio->supported.bitrates[chosen->idx].bitrate * 100;
	}
}

static u32 mpdu_octets(const struct sk_buff *skb)
{
	return skb->len + AIRSIM_FCS_OCTETS;
}

static bool wants_answer(struct sk_buff *skb)
{
	struct ieee80211_hdr *hdr = (void *)skb->data;

	return !is_multicast_ether_addr(hdr->addr1) &&
	       !(IEEE80211_SKB_CB(skb)->flags & IEEE80211_TX_CTL_NO_ACK);
}

static void append(struct airsim_ppdu *ppdu, struct sk_buff *skb)
{
	ppdu->octets[airsim_classify(skb)] += mpdu_octets(skb);
	ppdu->mpdu[ppdu->count++] = skb;
}

static u16 sequence(const struct sk_buff *skb)
{
	const struct ieee80211_hdr *hdr = (void *)skb->data;

	return IEEE80211_SEQ_TO_SN(le16_to_cpu(hdr->seq_ctrl));
}

/* The next MPDU of a queue: one that waits, or a new one from mac80211. */
static struct sk_buff *take(struct airsim_radio *radio,
			    struct ieee80211_txq *txq)
{
	struct airsim_txq *own = airsim_txq(txq);
	struct sk_buff *skb = __skb_dequeue(&own->pending);

	if (skb)
		return skb;
	skb = ieee80211_tx_dequeue(radio->hw, txq);
	if (skb)
		memset(airsim_mpdu(skb), 0, sizeof(struct airsim_mpdu));
	return skb;
}

/*
 * Whether an MPDU of @octets may follow in the A-MPDU whose subframes so far
 * take @psdu_octets.
 */
static bool fits(const struct airsim_ppdu *ppdu, u32 psdu_octets, u32 octets)
{
	u32 limit_ns = min(airsim_settings.ampdu_duration_us * 1000,
			   AIRSIM_HT_MAX_PPDU_NS);
	u32 total = psdu_octets + AIRSIM_DELIMITER_OCTETS + octets;

	return total <= airsim_settings.ampdu_octets &&
	       airsim_ppdu_ns(&ppdu->rate, total) <= limit_ns;
}

/*
 * Fills an A-MPDU, whose first MPDU is there, with more of its queue: within
 * the limits on MPDUs, octets and duration and the receiver's reorder window,
 * which begins at the oldest MPDU not yet acknowledged - the first.
 */
static void fill(struct airsim_radio *radio, struct ieee80211_txq *txq,
		 struct airsim_ppdu *ppdu)
{
	struct airsim_txq *own = airsim_txq(txq);
	u32 limit = min_t(u32, own->buf_size, airsim_settings.ampdu_mpdus);
	u32 spacing = airsim_spacing_octets(&ppdu->rate,
				txq->sta->deflink.ht_cap.ampdu_density);
	u16 window_start = sequence(ppdu->mpdu[0]);
	u32 psdu_octets = 0;
	struct sk_buff *skb;

	while (ppdu->count < min_t(u32, limit, AIRSIM_MAX_MPDUS)) {
		u32 last = mpdu_octets(ppdu->mpdu[ppdu->count - 1]);
		u32 subframe = max(spacing, airsim_subframe_octets(last));

		skb = take(radio, txq);
		if (!skb)
			break;
		if (!(IEEE80211_SKB_CB(skb)->flags & IEEE80211_TX_CTL_AMPDU) ||
		    ieee80211_sn_sub(sequence(skb), window_start) >=
		    own->buf_size ||
		    !fits(ppdu, psdu_octets + subframe, mpdu_octets(skb))) {
			__skb_queue_head(&own->pending, skb);
			break;
		}
		psdu_octets += subframe;
		ppdu->subframe_octets[ppdu->count - 1] = subframe;
		append(ppdu, skb);
	}
}

static bool build_from_txq(struct airsim_radio *radio,
			   struct ieee80211_txq *txq)
{
	struct airsim_txq *own = airsim_txq(txq);
	struct airsim_ppdu *ppdu = &radio->ppdu;
	struct sk_buff *skb = take(radio, txq);

	if (!skb)
		return false;
	ppdu->txq = txq;
	ppdu->queued = true;
	read_rate(radio, skb, &ppdu->rate);
	append(ppdu, skb);
	if (own->buf_size && ppdu->rate.format == AIRSIM_HT &&
	    IEEE80211_SKB_CB(skb)->flags & IEEE80211_TX_CTL_AMPDU)
		fill(radio, txq, ppdu);
	return true;
}

/* Keeps a queue with pending MPDUs in the radio's list of such, no other. */
static void list_pending(struct airsim_radio *radio, struct ieee80211_txq *txq)
{
	struct airsim_txq *own = airsim_txq(txq);

	if (skb_queue_empty(&own->pending))
		list_del_init(&own->retry_list);
	else if (list_empty(&own->retry_list))
		list_add_tail(&own->retry_list, &radio->retry_txqs[txq->ac]);
}

/*
 * mac80211 says whose turn it is. Queues that it holds back, because too much
 * of theirs is in the driver already, still get rid of what is pending here.
 */
static bool build_data(struct airsim_radio *radio, u8 ac)
{
	struct ieee80211_hw *hw = radio->hw;
	struct ieee80211_txq *txq;
	struct airsim_txq *own;
	bool built = false;

	ieee80211_txq_schedule_start(hw, ac);
	while (!built && (txq = ieee80211_next_txq(hw, ac))) {
		built = build_from_txq(radio, txq);
		list_pending(radio, txq);
		ieee80211_return_txq(hw, txq, false);
	}
	ieee80211_txq_schedule_end(hw, ac);
	if (built)
		return true;

	own = list_first_entry_or_null(&radio->retry_txqs[ac],
				       struct airsim_txq, retry_list);
	if (!own)
		return false;
	list_del_init(&own->retry_list);
	built = build_from_txq(radio, own->txq);
	list_pending(radio, own->txq);
	return built;
}

static bool build_frame(struct airsim_radio *radio, u8 ac)
{
	struct sk_buff *skb = __skb_dequeue(&radio->frames[ac]);

	if (!skb)
		return false;
	read_rate(radio, skb, &radio->ppdu.rate);
	append(&radio->ppdu, skb);
	return true;
}

static enum airsim_response due_response(const struct airsim_ppdu *ppdu)
{
	struct ieee80211_hdr *hdr = (void *)ppdu->mpdu[0]->data;

	if (!wants_answer(ppdu->mpdu[0]))
		return AIRSIM_NO_RESPONSE;
	if (ppdu->count > 1 || ieee80211_is_back_req(hdr->frame_control))
		return AIRSIM_RESPONSE_BLOCKACK;
	return AIRSIM_RESPONSE_ACK;
}

/**
 * airsim_ppdu_build - gather what an access category sends now
 * @radio: the radio, its medium locked, with no PPDU active
 * @ac: EDCA function
 *
 * One MPDU goes by itself and is answered by an ACK, several go as an A-MPDU.
 *
 * Return: false if there is nothing to send.
 */
bool airsim_ppdu_build(struct airsim_radio *radio, u8 ac)
{
	struct airsim_ppdu *ppdu = &radio->ppdu;
	unsigned int i;

	ppdu->txq = NULL;
	ppdu->queued = false;
	ppdu->count = 0;
	ppdu->next = 0;
	ppdu->ac = ac;
	memset(ppdu->octets, 0, sizeof(ppdu->octets));
	if (!build_frame(radio, ac) &&
	    (ac == AIRSIM_BEACON || !build_data(radio, ac)))
		return false;

	ppdu->active = true;
	ppdu->response = due_response(ppdu);
	for (i = 0; i < ppdu->count; i++) {
		struct ieee80211_hdr *hdr = (void *)ppdu->mpdu[i]->data;

		if (airsim_mpdu(ppdu->mpdu[i])->attempts++)
			hdr->frame_control |=
				cpu_to_le16(IEEE80211_FCTL_RETRY);
	}
	return true;
}

/**
 * airsim_ppdu_start - fix when a PPDU and each of its MPDUs ends
 * @ppdu: a PPDU that has been built
 * @start_ns: when its preamble begins
 */
void airsim_ppdu_start(struct airsim_ppdu *ppdu, u64 start_ns)
{
	u64 data_ns = start_ns + airsim_preamble_ns(&ppdu->rate);
	u32 delimiter = ppdu->count > 1 ? AIRSIM_DELIMITER_OCTETS : 0;
	u32 octets = 0;
	unsigned int i;

	ppdu->start_ns = start_ns;
	for (i = 0; i < ppdu->count; i++) {
		u32 end = octets + delimiter + mpdu_octets(ppdu->mpdu[i]);

		ppdu->mpdu_end_ns[i] = data_ns +
				       airsim_payload_ns(&ppdu->rate, end);
		octets = i + 1 < ppdu->count ?
			 octets + ppdu->subframe_octets[i] : end;
	}
	ppdu->end_ns = start_ns + airsim_ppdu_ns(&ppdu->rate, octets);
}

static void set_status(struct sk_buff *skb, bool acked)
{
	struct ieee80211_tx_info *info = IEEE80211_SKB_CB(skb);
	bool ampdu = info->flags & IEEE80211_TX_CTL_AMPDU;
	u8 attempts = airsim_mpdu(skb)->attempts;

	ieee80211_tx_info_clear_status(info);
	info->status.rates[0].count = attempts;
	info->status.rates[1].idx = -1;
	if (acked)
		info->flags |= wants_answer(skb) ?
			       IEEE80211_TX_STAT_ACK :
			       IEEE80211_TX_STAT_NOACK_TRANSMITTED;
	else if (ampdu)
		info->flags |= IEEE80211_TX_STAT_AMPDU_NO_BACK;
}

/**
 * airsim_ppdu_settle - sort the MPDUs of a PPDU that is over
 * @radio: the radio, its medium locked
 * @done: gets the MPDUs that are done with, acknowledged or given up
 *
 * The others go back to where they came from, in order.
 */
void airsim_ppdu_settle(struct airsim_radio *radio, struct sk_buff_head *done)
{
	u8 retry_limit = radio->hw->conf.short_frame_max_tx_count;
	struct airsim_ppdu *ppdu = &radio->ppdu;
	bool missing = ppdu->response == AIRSIM_RESPONSE_MISSING;
	struct sk_buff_head *origin = NULL;
	u8 acked = 0;
	int i;

	if (ppdu->txq)
		origin = &airsim_txq(ppdu->txq)->pending;
	else if (!ppdu->queued)
		origin = &radio->frames[ppdu->ac];
	ppdu->active = false;
	for (i = ppdu->count - 1; i >= 0; i--) {
		struct sk_buff *skb = ppdu->mpdu[i];
		struct airsim_mpdu *mpdu = airsim_mpdu(skb);
		bool failed = (missing || mpdu->lost) && wants_answer(skb);

		if (failed && origin && mpdu->attempts < retry_limit) {
			__skb_queue_head(origin, skb);
			continue;
		}
		acked += !failed;
		radio->medium->counters.drops += failed;
		set_status(skb, !failed);
		__skb_queue_head(done, skb);
	}
	if (ppdu->txq)
		list_pending(radio, ppdu->txq);
	if (ppdu->count > 1 && !skb_queue_empty(done)) {
		struct ieee80211_tx_info *info =
			IEEE80211_SKB_CB(skb_peek(done));

		info->flags |= IEEE80211_TX_STAT_AMPDU;
		info->status.ampdu_len = ppdu->count;
		info->status.ampdu_ack_len = acked;
	}
	if (!skb_queue_empty(done))
		IEEE80211_SKB_CB(skb_peek(done))->status.tx_time =
			div_u64(ppdu->end_ns - ppdu->start_ns, 1000);
}

/**
 * airsim_ppdu_report - tell mac80211 what has become of MPDUs
 * @radio: the radio, its medium not locked, under rcu_read_lock()
 * @done: MPDUs of one PPDU, done with; emptied
 *
 * This frees the skbs, and so lets TCP small queues send more.
 */
void airsim_ppdu_report(struct airsim_radio *radio, struct sk_buff_head *done)
{
	struct sk_buff *skb = skb_peek(done);
	struct ieee80211_tx_status status = {};
	struct ieee80211_hdr *hdr;
	u16 tx_time_us;

	if (!skb)
		return;
	hdr = (void *)skb->data;
	tx_time_us = IEEE80211_SKB_CB(skb)->status.tx_time;
	status.sta = ieee80211_find_sta_by_ifaddr(radio->hw, hdr->addr1,
						  hdr->addr2);
	if (status.sta && ieee80211_is_data_qos(hdr->frame_control))
		ieee80211_sta_register_airtime(status.sta,
					       ieee80211_get_tid(hdr),
					       tx_time_us, 0);
	while ((skb = __skb_dequeue(done))) {
		status.skb = skb;
		status.info = IEEE80211_SKB_CB(skb);
		ieee80211_tx_status_ext(radio->hw, &status);
	}
}
