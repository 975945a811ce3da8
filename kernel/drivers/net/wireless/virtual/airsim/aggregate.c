// SPDX-License-Identifier: GPL-2.0-only
/*
 * Builds PPDUs from mac80211's queues.
 *
 * A PPDU is built when its access category wins the medium, so that everything
 * queued by then can be aggregated. Alternatively MPDUs are dequeued earlier,
 * as drivers do that keep a hardware queue filled. MPDUs taken from mac80211
 * that did not fit or were not acknowledged are kept in the pending list of
 * their queue, in order of sequence number, and are sent first.
 */
#include <linux/etherdevice.h>
#include <linux/ieee80211.h>
#include "airsim.h"

/**
 * airsim_txq_init - initialize the driver's part of a transmit queue
 * @txq: mac80211's queue
 */
void airsim_txq_init(struct ieee80211_txq *txq)
{
	struct airsim_txq *atxq = airsim_txq(txq);

	__skb_queue_head_init(&atxq->pending);
	INIT_LIST_HEAD(&atxq->retry_list);
	atxq->txq = txq;
	atxq->unformed = NULL;
	atxq->prebuilt = 0;
	atxq->detached = false;
}

/**
 * airsim_txq_detach - release a queue that is about to be removed
 * @radio: the radio; the medium is locked
 * @txq: the queue
 * @done: receives its pending MPDUs
 */
void airsim_txq_detach(struct airsim_radio *radio, struct ieee80211_txq *txq,
		       struct sk_buff_head *done)
{
	struct airsim_txq *atxq = airsim_txq(txq);
	u32 mpdus = skb_queue_len(&atxq->pending);

	/* mac80211 may still return it until the RCU grace period has ended. */
	atxq->detached = true;
	radio->fifo_mpdus -= min(mpdus, radio->fifo_mpdus);
	radio->count.dropped_queue_gone += mpdus;
	skb_queue_splice_tail_init(&atxq->pending, done);
	atxq->unformed = NULL;
	atxq->prebuilt = 0;
	list_del_init(&atxq->retry_list);
	if (radio->ppdu.txq == txq) {
		radio->ppdu.txq = NULL;
		radio->ppdu.sta = NULL;
	}
}

static void airsim_ppdu_append(struct airsim_ppdu *ppdu, struct sk_buff *skb)
{
	u32 octets = airsim_mpdu_octets(skb);

	ppdu->octets[airsim_classify(skb)] += octets;
	ppdu->mpdu[ppdu->count++] = skb;
}

static u16 airsim_mpdu_sequence(const struct sk_buff *skb)
{
	const struct ieee80211_hdr *hdr = (const void *)skb->data;

	return IEEE80211_SEQ_TO_SN(le16_to_cpu(hdr->seq_ctrl));
}

/* A new MPDU from mac80211, which is pending from now on. */
static struct sk_buff *airsim_txq_pull(struct airsim_radio *radio,
				       struct ieee80211_txq *txq)
{
	struct airsim_txq *atxq = airsim_txq(txq);
	struct sk_buff *skb;

	if (atxq->detached || airsim_txq_asleep(txq))
		return NULL;
	skb = ieee80211_tx_dequeue(radio->hw, txq);
	if (!skb)
		return NULL;
	airsim_mpdu_init(skb);
	radio->count.taken++;
	__skb_queue_tail(&atxq->pending, skb);
	return skb;
}

/* Whether MPDUs are dequeued before their access category wins the medium. */
static bool airsim_prefetches(const struct airsim_radio *radio)
{
	return radio->hardware.queueing == AIRSIM_QUEUE_FIFO ||
	       radio->settings.formed_ppdus;
}

/* Of the MPDUs of the FIFO that are in no PPDU, the first is about to leave. */
static void airsim_txq_pass_unformed(struct airsim_txq *atxq)
{
	struct sk_buff *skb = atxq->unformed;

	atxq->unformed = skb_queue_is_last(&atxq->pending, skb) ?
			 NULL : skb_queue_next(&atxq->pending, skb);
}

/*
 * The next MPDU of a queue, which stays pending: a pending one, or a new one
 * from mac80211.
 */
static struct sk_buff *airsim_txq_peek(struct airsim_radio *radio,
				       struct ieee80211_txq *txq)
{
	struct sk_buff *skb = skb_peek(&airsim_txq(txq)->pending);

	if (skb || airsim_prefetches(radio))
		return skb;
	return airsim_txq_pull(radio, txq);
}

/* Take the MPDU of airsim_txq_peek(). */
static void airsim_txq_take(struct airsim_txq *atxq, struct sk_buff *skb)
{
	if (airsim_mpdu(skb)->first_of_ppdu) {
		airsim_mpdu(skb)->first_of_ppdu = false;
		atxq->prebuilt--;
	}
	if (skb == atxq->unformed)
		airsim_txq_pass_unformed(atxq);
	__skb_unlink(skb, &atxq->pending);
}

/* Whether the next pending MPDU belongs to another PPDU. */
static bool airsim_txq_ppdu_complete(const struct airsim_radio *radio,
				     const struct airsim_txq *atxq)
{
	struct sk_buff *next = skb_peek(&atxq->pending);

	return next && (airsim_mpdu(next)->first_of_ppdu ||
			(radio->settings.formed_ppdus && next == atxq->unformed));
}

/* What a receiver announces for HE where there is neither HT nor VHT. */
static u16 airsim_6ghz_capa(const struct ieee80211_link_sta *link, u16 field)
{
	return (le16_to_cpu(link->he_6ghz_capa.capa) & field) >> __ffs(field);
}

/* Of EHT, with the extension of the exponent that HE's extensions lead to. */
static u32 airsim_eht_octets(const struct ieee80211_link_sta *link)
{
	u8 extension = link->eht_cap.eht_cap_elem.mac_cap_info[1] &
		       IEEE80211_EHT_MAC_CAP1_MAX_AMPDU_LEN_MASK;

	return min_t(u32, BIT(23 + extension) - 1, AIRSIM_EHT_PSDU_OCTETS);
}

/**
 * airsim_receiver_octets - maximum A-MPDU length of a receiver
 * @sta: the receiver, or NULL
 * @format: format of the PPDU
 */
u32 airsim_receiver_octets(const struct ieee80211_sta *sta,
			   enum airsim_format format)
{
	const struct ieee80211_link_sta *link;

	if (!sta)
		return U32_MAX;
	link = &sta->deflink;
	if (format == AIRSIM_EHT)
		return airsim_eht_octets(link);
	if (!link->ht_cap.ht_supported)
		return BIT(13 + airsim_6ghz_capa(link,
				IEEE80211_HE_6GHZ_CAP_MAX_AMPDU_LEN_EXP)) - 1;
	if (format == AIRSIM_HT || !link->vht_cap.vht_supported)
		return BIT(13 + link->ht_cap.ampdu_factor) - 1;
	return BIT(13 + (link->vht_cap.cap >>
			 IEEE80211_VHT_CAP_MAX_A_MPDU_LENGTH_EXPONENT_SHIFT &
			 7)) - 1;
}

/* Minimum MPDU Start Spacing of the receiver. */
static u8 airsim_receiver_density(const struct ieee80211_sta *sta)
{
	const struct ieee80211_link_sta *link = &sta->deflink;

	if (link->ht_cap.ht_supported)
		return link->ht_cap.ampdu_density;
	return airsim_6ghz_capa(link, IEEE80211_HE_6GHZ_CAP_MIN_MPDU_START);
}

/*
 * Whether an MPDU of @octets may follow in an A-MPDU whose subframes so far
 * take @psdu_octets. @limit_ns: rest of the TXOP, including the response, or 0.
 */
static bool airsim_ppdu_fits(struct airsim_radio *radio,
			     const struct ieee80211_sta *sta,
			     const struct airsim_rate *rate, u32 psdu_octets,
			     u32 octets, u64 limit_ns)
{
	const struct airsim_settings *set = &radio->settings;
	u32 total = psdu_octets + AIRSIM_DELIMITER_OCTETS + octets;
	u32 ns;

	if (total >
	    min(set->ampdu_octets, airsim_receiver_octets(sta, rate->format)))
		return false;
	ns = airsim_ppdu_ns(rate, total);
	return ns <= set->ampdu_duration_us * 1000 &&
	       (!limit_ns || ns + airsim_response_ns(radio) <= limit_ns);
}

static u32 airsim_ampdu_limit(const struct airsim_radio *radio,
			      const struct airsim_txq *atxq)
{
	return min3((u32)atxq->buf_size, radio->settings.ampdu_mpdus,
		    (u32)AIRSIM_MAX_MPDUS);
}

/* Octets of an A-MPDU until the next MPDU: @last is the one before it. */
static u32 airsim_spaced_octets(const struct airsim_rate *rate,
				const struct ieee80211_sta *sta,
				const struct sk_buff *last)
{
	return max(airsim_spacing_octets(rate, airsim_receiver_density(sta)),
		   airsim_subframe_octets(airsim_mpdu_octets(last)));
}

/*
 * Fills an A-MPDU, whose first MPDU is there, with more of its queue: within
 * the limits on MPDUs, octets and duration and the receiver's reorder window,
 * which begins at the oldest MPDU not yet acknowledged - the first.
 */
static void airsim_ampdu_fill(struct airsim_radio *radio,
			      struct ieee80211_txq *txq, u64 limit_ns)
{
	struct airsim_ppdu *ppdu = &radio->ppdu;
	struct airsim_txq *atxq = airsim_txq(txq);
	u32 limit = airsim_ampdu_limit(radio, atxq);
	u16 window_start = airsim_mpdu_sequence(ppdu->mpdu[0]);
	u32 psdu_octets = 0;
	struct sk_buff *skb;

	while (ppdu->count < limit) {
		const struct sk_buff *last = ppdu->mpdu[ppdu->count - 1];
		u32 subframe = airsim_spaced_octets(&ppdu->rate, txq->sta,
						    last);
		struct ieee80211_tx_info *info;

		/* HE TB PPDUs are not formed ahead. */
		if (airsim_txq_ppdu_complete(radio, atxq) && !ppdu->tb)
			break;
		skb = airsim_txq_peek(radio, txq);
		if (!skb)
			break;
		info = IEEE80211_SKB_CB(skb);
		if (!(info->flags & IEEE80211_TX_CTL_AMPDU) ||
		    info->flags & IEEE80211_TX_CTL_RATE_CTRL_PROBE ||
		    ieee80211_sn_sub(airsim_mpdu_sequence(skb), window_start) >=
			    atxq->buf_size ||
		    !airsim_ppdu_fits(radio, txq->sta, &ppdu->rate,
				      psdu_octets + subframe,
				      airsim_mpdu_octets(skb), limit_ns))
			break;
		airsim_txq_take(atxq, skb);
		psdu_octets += subframe;
		ppdu->subframe_octets[ppdu->count - 1] = subframe;
		airsim_ppdu_append(ppdu, skb);
	}
	ppdu->psdu_octets = psdu_octets;
}

/*
 * A BlockAckReq for the oldest MPDU that waits. As a control frame, it is not
 * protected: see airsim_rate_read().
 */
static struct sk_buff *airsim_bar_make(const struct sk_buff *oldest)
{
	const struct ieee80211_qos_hdr *hdr = (const void *)oldest->data;
	struct sk_buff *skb = dev_alloc_skb(sizeof(struct ieee80211_bar));
	u16 control = IEEE80211_BAR_CTRL_CBMTID_COMPRESSED_BA;
	struct ieee80211_bar *bar;

	if (!skb)
		return NULL;
	control |= ieee80211_get_tid((void *)hdr) <<
		   IEEE80211_BAR_CTRL_TID_INFO_SHIFT;
	bar = skb_put_zero(skb, sizeof(*bar));
	bar->frame_control = cpu_to_le16(IEEE80211_FTYPE_CTL |
					 IEEE80211_STYPE_BACK_REQ);
	ether_addr_copy(bar->ra, hdr->addr1);
	ether_addr_copy(bar->ta, hdr->addr2);
	bar->control = cpu_to_le16(control);
	bar->start_seq_num = hdr->seq_ctrl & cpu_to_le16(IEEE80211_SCTL_SEQ);
	return skb;
}

static bool airsim_bar_build(struct airsim_radio *radio,
			     struct ieee80211_txq *txq)
{
	const struct airsim_rate best = {
		.format = AIRSIM_OFDM, .streams = 1, .width_mhz = 20,
		.legacy_kbps = 24000, .extension_ns = radio->phy->extension_ns,
	};
	struct sk_buff *oldest = skb_peek(&airsim_txq(txq)->pending);
	struct airsim_ppdu *ppdu = &radio->ppdu;
	struct sk_buff *skb;

	airsim_txq(txq)->bar_due = oldest;
	if (!oldest)
		return false;
	skb = airsim_bar_make(oldest);
	if (!skb)
		return false;
	ppdu->bar = true;
	ppdu->txq = txq;
	if (txq->sta)
		ppdu->sta = (struct airsim_sta *)txq->sta->drv_priv;
	ppdu->rate = airsim_response_rate(&best, airsim_basic_rates(radio));
	ppdu->chosen.idx = -1;
	airsim_ppdu_append(ppdu, skb);
	return true;
}

static bool airsim_may_aggregate(const struct airsim_rate *rate,
				 struct sk_buff *skb, u16 buf_size)
{
	const struct ieee80211_tx_info *info = IEEE80211_SKB_CB(skb);

	return buf_size && rate->format >= AIRSIM_HT &&
	       info->flags & IEEE80211_TX_CTL_AMPDU &&
	       !(info->flags & IEEE80211_TX_CTL_RATE_CTRL_PROBE);
}

/*
 * What an A-MPDU and its response may take where a TXOP starts, or 0: all of its
 * limit but for the frames that protect the A-MPDU. Only a single MPDU may
 * exceed the limit (10.23.2.9). A threshold for RTS is below such lengths.
 */
static u64 airsim_txop_limit_ns(struct airsim_radio *radio)
{
	const struct airsim_ppdu *ppdu = &radio->ppdu;
	u32 txop_ns = radio->edca[ppdu->ac].txop_ns;
	bool rts = radio->hw->wiphy->rts_threshold != (u32)-1;
	u32 before_ns;

	if (!txop_ns)
		return 0;
	before_ns = airsim_protection_ns(radio, rts ? AIRSIM_RTS : ppdu->first);
	return txop_ns > before_ns ? txop_ns - before_ns : 1;
}

/*
 * Exchanges that have failed with the rates of an MPDU: its own or, in a
 * BlockAck session, where rates are chosen for PPDUs, those of its queue.
 */
static unsigned int airsim_failed_tries(const struct airsim_txq *atxq,
					struct sk_buff *skb)
{
	return IEEE80211_SKB_CB(skb)->flags & IEEE80211_TX_CTL_AMPDU ?
	       atxq->unanswered : airsim_mpdu(skb)->attempts;
}

static bool airsim_build_from_txq(struct airsim_radio *radio,
				  struct ieee80211_txq *txq, u64 limit_ns)
{
	struct airsim_txq *atxq = airsim_txq(txq);
	struct airsim_ppdu *ppdu = &radio->ppdu;
	struct ieee80211_tx_info *info;
	struct sk_buff *skb;

	if (airsim_txq_asleep(txq))
		return false;
	if (atxq->bar_due && !ppdu->tb) {
		/* It starts a TXOP, as there may be no time for the response. */
		if (limit_ns)
			return false;
		if (airsim_bar_build(radio, txq))
			return true;
	}
	skb = airsim_txq_peek(radio, txq);
	if (!skb)
		return false;
	info = IEEE80211_SKB_CB(skb);
	ppdu->txq = txq;
	ppdu->queued = true;
	if (txq->sta)
		ppdu->sta = (struct airsim_sta *)txq->sta->drv_priv;
	if (!ppdu->tb) {
		ppdu->probe = info->flags & IEEE80211_TX_CTL_RATE_CTRL_PROBE;
		ppdu->first = airsim_rate_read(radio, skb, txq,
					       airsim_failed_tries(atxq, skb),
					       &ppdu->chosen, &ppdu->rate);
	}
	ppdu->response = AIRSIM_RESPONSE_ACK;
	if (limit_ns && !airsim_ppdu_fits(radio, txq->sta, &ppdu->rate, 0,
					  airsim_mpdu_octets(skb), limit_ns)) {
		airsim_ppdu_clear(ppdu, ppdu->ac);
		return false;
	}
	airsim_txq_take(atxq, skb);
	airsim_ppdu_append(ppdu, skb);
	if (airsim_may_aggregate(&ppdu->rate, skb, atxq->buf_size)) {
		ppdu->response = AIRSIM_RESPONSE_BLOCKACK;
		airsim_ampdu_fill(radio, txq,
				  limit_ns ?: airsim_txop_limit_ns(radio));
	}
	return true;
}

/**
 * airsim_txq_list_pending - keep a queue with pending MPDUs in the lists
 * @radio: the radio; the medium is locked
 * @txq: the queue
 *
 * Keeps a queue in the radio's list if and only if it has pending MPDUs, and
 * scheduled in mac80211, which does not know about them. Otherwise they would
 * starve while other queues have frames. MPDUs for a sleeping station wait.
 */
void airsim_txq_list_pending(struct airsim_radio *radio,
			     struct ieee80211_txq *txq)
{
	struct airsim_txq *atxq = airsim_txq(txq);

	if (skb_queue_empty(&atxq->pending)) {
		list_del_init(&atxq->retry_list);
		return;
	}
	if (list_empty(&atxq->retry_list))
		list_add_tail(&atxq->retry_list, &radio->retry_txqs[txq->ac]);
	if (!airsim_prefetches(radio) && !airsim_txq_asleep(txq))
		ieee80211_schedule_txq(radio->hw, txq);
}

static bool airsim_fifo_has_room(const struct airsim_radio *radio)
{
	return radio->fifo_mpdus < radio->settings.fifo_mpdus;
}

static void airsim_fifo_fill(struct airsim_radio *radio,
			     struct ieee80211_txq *txq)
{
	struct airsim_txq *atxq = airsim_txq(txq);
	struct sk_buff *skb;

	while (airsim_fifo_has_room(radio) &&
	       (skb = airsim_txq_pull(radio, txq))) {
		if (!atxq->unformed)
			atxq->unformed = skb;
		radio->fifo_mpdus++;
	}
}

static bool airsim_may_prebuild(const struct airsim_radio *radio, u8 ac)
{
	const struct airsim_txq *atxq;
	u32 prebuilt = 0, mpdus = 0;

	if (radio->exchange.stage != AIRSIM_STAGE_NONE && radio->ppdu.queued &&
	    radio->ppdu.ac == ac) {
		prebuilt = 1;
		mpdus = radio->ppdu.count;
	}
	list_for_each_entry(atxq, &radio->retry_txqs[ac], retry_list) {
		if (airsim_txq_asleep(atxq->txq))
			continue;
		prebuilt += atxq->prebuilt;
		mpdus += skb_queue_len(&atxq->pending);
	}
	return prebuilt < radio->settings.formed_ppdus ||
	       (prebuilt < radio->settings.formed_singles && mpdus == prebuilt);
}

/* The next MPDU for a PPDU that is built ahead, which is pending. */
static struct sk_buff *airsim_txq_form_next(struct airsim_radio *radio,
					    struct ieee80211_txq *txq)
{
	struct airsim_txq *atxq = airsim_txq(txq);
	struct sk_buff *skb = atxq->unformed;

	if (radio->hardware.queueing != AIRSIM_QUEUE_FIFO)
		return airsim_txq_pull(radio, txq);
	if (skb)
		airsim_txq_pass_unformed(atxq);
	return skb;
}

/*
 * Puts MPDUs from the FIFO, or from what mac80211 has queued, into a PPDU. Frames
 * queued later go into the next PPDU, even if this one still waits for the
 * medium. The length of the next MPDU is assumed to be that of the previous
 * one; MPDUs that do not fit in the end are sent next, in a PPDU of their own.
 */
static void airsim_prebuild_ppdu(struct airsim_radio *radio,
				 struct ieee80211_txq *txq)
{
	struct airsim_txq *atxq = airsim_txq(txq);
	struct sk_buff *skb = airsim_txq_form_next(radio, txq);
	u32 psdu_octets = 0, count = 1;
	struct ieee80211_tx_rate chosen;
	struct airsim_rate rate;

	if (!skb)
		return;
	airsim_rate_read(radio, skb, txq, 0, &chosen, &rate);
	airsim_mpdu(skb)->first_of_ppdu = true;
	atxq->prebuilt++;
	while (count < airsim_ampdu_limit(radio, atxq) &&
	       airsim_may_aggregate(&rate, skb, atxq->buf_size)) {
		psdu_octets +=
			airsim_spaced_octets(&rate, txq->sta, skb);
		if (!airsim_ppdu_fits(radio, txq->sta, &rate, psdu_octets,
				      airsim_mpdu_octets(skb), 0))
			break;
		skb = airsim_txq_form_next(radio, txq);
		if (!skb)
			break;
		count++;
	}
}

/* Build PPDUs ahead from the FIFO. */
static void airsim_fifo_prebuild(struct airsim_radio *radio, u8 ac)
{
	struct airsim_txq *atxq;

	list_for_each_entry(atxq, &radio->retry_txqs[ac], retry_list)
		while (atxq->unformed && !airsim_txq_asleep(atxq->txq) &&
		       airsim_may_prebuild(radio, ac))
			airsim_prebuild_ppdu(radio, atxq->txq);
}

/**
 * airsim_prefetch - dequeue MPDUs before their access category wins the medium
 * @radio: the radio; the medium is locked
 * @ac: access category
 */
void airsim_prefetch(struct airsim_radio *radio, u8 ac)
{
	bool fifo = radio->hardware.queueing == AIRSIM_QUEUE_FIFO;
	struct ieee80211_hw *hw = radio->hw;
	struct ieee80211_txq *txq;

	if (!airsim_prefetches(radio))
		return;
	ieee80211_txq_schedule_start(hw, ac);
	while ((fifo ? airsim_fifo_has_room(radio) :
		       airsim_may_prebuild(radio, ac)) &&
	       (txq = ieee80211_next_txq(hw, ac))) {
		if (fifo)
			airsim_fifo_fill(radio, txq);
		else
			airsim_prebuild_ppdu(radio, txq);
		airsim_txq_list_pending(radio, txq);
		ieee80211_return_txq(hw, txq, false);
	}
	ieee80211_txq_schedule_end(hw, ac);
	if (!fifo)
		return;
	airsim_fifo_prebuild(radio, ac);
	if (!airsim_fifo_has_room(radio))
		radio->fifo_waiting |= BIT(ac);
}

/**
 * airsim_fifo_share - give room in the FIFO to other access categories
 * @radio: the radio, whose exchange has ended; the medium is locked
 * @now_ns: current time
 *
 * All access categories share the FIFO. One that found it full may have stopped
 * contending, and nothing but another packet would wake it; TCP does not send
 * another one while the last is queued.
 */
void airsim_fifo_share(struct airsim_radio *radio, u64 now_ns)
{
	const struct airsim_ppdu *ppdu = &radio->ppdu;
	u8 waiting = radio->fifo_waiting & ~BIT(ppdu->ac);
	int i;

	if (!ppdu->queued && !ppdu->bar)
		return;
	for (i = 1; i < IEEE80211_NUM_ACS; i++) {
		u8 ac = (ppdu->ac + i) % IEEE80211_NUM_ACS;

		if (!(waiting & BIT(ac)))
			continue;
		radio->fifo_waiting &= ~BIT(ac);
		airsim_prefetch(radio, ac);
		airsim_edca_request(&radio->edca[ac], now_ns, true,
				    &airsim_medium.backoff_rnd);
	}
}

/**
 * airsim_resume - an access category that found nothing may go on
 * @radio: the radio; the medium is not locked
 * @ac: EDCA function
 *
 * When mac80211 lets go of a queue that it has stopped, or the FIFO has room,
 * nothing but another packet would make the radio contend again.
 */
void airsim_resume(struct airsim_radio *radio, u8 ac)
{
	if (ac == AIRSIM_BEACON)
		return;
	rcu_read_lock(); /* for mac80211 */
	spin_lock_bh(&airsim_medium.lock);
	if (airsim_tuned(radio) && !radio->edca[ac].pending) {
		airsim_prefetch(radio, ac);
		airsim_request_access(radio, ac, ktime_get_ns());
		airsim_events_arm();
	}
	spin_unlock_bh(&airsim_medium.lock);
	rcu_read_unlock();
}

/*
 * The first queue of a round of mac80211's scheduler, which returns each queue
 * once in a round. It counts rounds from 1 again after AQL's limit for the access
 * category was exceeded, and would leave out a queue of an earlier round 1.
 */
static struct ieee80211_txq *airsim_first_txq(struct ieee80211_hw *hw, u8 ac)
{
	struct ieee80211_txq *txq;

	ieee80211_txq_schedule_start(hw, ac);
	txq = ieee80211_next_txq(hw, ac);
	if (txq)
		return txq;
	ieee80211_txq_schedule_start(hw, ac);
	return ieee80211_next_txq(hw, ac);
}

/* mac80211's airtime scheduler chooses the queue. */
static bool airsim_build_from_mac80211(struct airsim_radio *radio, u8 ac,
				       u64 limit_ns)
{
	struct ieee80211_hw *hw = radio->hw;
	struct ieee80211_txq *txq;
	bool built = false;

	for (txq = airsim_first_txq(hw, ac); txq;
	     txq = ieee80211_next_txq(hw, ac)) {
		built = airsim_build_from_txq(radio, txq, limit_ns);
		airsim_txq_list_pending(radio, txq);
		ieee80211_return_txq(hw, txq, false);
		if (built)
			break;
	}
	ieee80211_txq_schedule_end(hw, ac);
	return built;
}

/* While mac80211 scans another channel, nobody there would answer data. */
static bool airsim_off_channel(const struct airsim_radio *radio)
{
	return radio->hw->conf.flags & IEEE80211_CONF_OFFCHANNEL;
}

/**
 * airsim_first_pending - first queue with MPDUs that the driver holds
 * @radio: the radio; the medium is locked
 * @ac: access category
 *
 * Return: the queue of a station that is awake, or NULL; also NULL while the
 * radio is on another channel to scan.
 */
struct airsim_txq *airsim_first_pending(struct airsim_radio *radio, u8 ac)
{
	struct airsim_txq *atxq;

	if (airsim_off_channel(radio))
		return NULL;
	list_for_each_entry(atxq, &radio->retry_txqs[ac], retry_list)
		if (!airsim_txq_asleep(atxq->txq))
			return atxq;
	return NULL;
}

/**
 * airsim_has_frame - whether an EDCA function has a frame to send
 * @radio: the radio; the medium is locked
 * @ac: EDCA function
 */
bool airsim_has_frame(struct airsim_radio *radio, u8 ac)
{
	unsigned long frames = 0, octets;
	struct ieee80211_hw *hw = radio->hw;
	struct ieee80211_txq *txq;

	if (!skb_queue_empty(&radio->frames[ac]))
		return true;
	if (ac == AIRSIM_BEACON || airsim_off_channel(radio))
		return false;
	if (airsim_first_pending(radio, ac))
		return true;
	/* mac80211 keeps queues in its list for a while after their last frame. */
	for (txq = airsim_first_txq(hw, ac); txq;
	     txq = ieee80211_next_txq(hw, ac)) {
		ieee80211_txq_get_depth(txq, &frames, &octets);
		ieee80211_return_txq(hw, txq, false);
		if (frames)
			break;
	}
	ieee80211_txq_schedule_end(hw, ac);
	return frames;
}

/*
 * Queues that AQL throttles because the driver already has too many of their
 * frames still send their pending MPDUs. So do all queues with a FIFO.
 */
static bool airsim_build_from_pending(struct airsim_radio *radio, u8 ac,
				      u64 limit_ns)
{
	struct airsim_txq *atxq = airsim_first_pending(radio, ac);
	bool built;

	if (!atxq)
		return false;
	list_del_init(&atxq->retry_list);
	built = airsim_build_from_txq(radio, atxq->txq, limit_ns);
	airsim_txq_list_pending(radio, atxq->txq);
	return built;
}

static bool airsim_build_data(struct airsim_radio *radio, u8 ac, u64 limit_ns)
{
	if (airsim_off_channel(radio))
		return false;
	if (airsim_prefetches(radio)) {
		airsim_prefetch(radio, ac);
		/* In a new round: see airsim_first_txq(). */
		if (!airsim_first_pending(radio, ac))
			airsim_prefetch(radio, ac);
	} else if (airsim_build_from_mac80211(radio, ac, limit_ns)) {
		return true;
	}
	return airsim_build_from_pending(radio, ac, limit_ns);
}

static bool airsim_build_frame(struct airsim_radio *radio, u8 ac)
{
	struct airsim_ppdu *ppdu = &radio->ppdu;
	struct sk_buff *skb = __skb_dequeue(&radio->frames[ac]);

	if (!skb)
		return false;
	ppdu->first = airsim_rate_read(radio, skb, NULL,
				       airsim_mpdu(skb)->attempts,
				       &ppdu->chosen, &ppdu->rate);
	airsim_ppdu_append(ppdu, skb);
	return true;
}

static enum airsim_response
airsim_expected_response(const struct airsim_ppdu *ppdu)
{
	struct ieee80211_hdr *hdr = (void *)ppdu->mpdu[0]->data;

	if (!ppdu->bar && !airsim_mpdu_needs_response(ppdu->mpdu[0]))
		return AIRSIM_NO_RESPONSE;
	if (ppdu->count > 1 || ieee80211_is_back_req(hdr->frame_control))
		return AIRSIM_RESPONSE_BLOCKACK;
	return AIRSIM_RESPONSE_ACK;
}

static void airsim_ppdu_finish_lengths(struct airsim_ppdu *ppdu)
{
	u32 last = airsim_mpdu_octets(ppdu->mpdu[ppdu->count - 1]);

	if (airsim_ppdu_is_ampdu(ppdu))
		last += AIRSIM_DELIMITER_OCTETS;
	ppdu->subframe_octets[ppdu->count - 1] = last;
	ppdu->psdu_octets += last;
}

static void airsim_ppdu_complete(struct airsim_radio *radio)
{
	struct airsim_ppdu *ppdu = &radio->ppdu;
	unsigned int i;

	airsim_ppdu_finish_lengths(ppdu);
	ppdu->response = airsim_expected_response(ppdu);
	for (i = 0; i < ppdu->count; i++)
		airsim_mpdu(ppdu->mpdu[i])->attempts++;
}

/**
 * airsim_ppdu_clear - start with an empty PPDU
 * @ppdu: the PPDU
 * @ac: EDCA function
 */
void airsim_ppdu_clear(struct airsim_ppdu *ppdu, u8 ac)
{
	ppdu->txq = NULL;
	ppdu->sta = NULL;
	ppdu->queued = false;
	ppdu->bar = false;
	ppdu->tb = false;
	ppdu->null = false;
	ppdu->probe = false;
	ppdu->first = AIRSIM_PPDU;
	ppdu->count = 0;
	ppdu->psdu_octets = 0;
	ppdu->left = (struct airsim_buffer_report){};
	ppdu->ac = ac;
	memset(ppdu->octets, 0, sizeof(ppdu->octets));
}

static void airsim_ppdu_clear_tb(struct airsim_ppdu *ppdu, u8 ac,
				 const struct airsim_rate *rate)
{
	airsim_ppdu_clear(ppdu, ac);
	ppdu->tb = true;
	ppdu->rate = *rate;
	/* Rate control has not chosen this rate. */
	ppdu->chosen = (struct ieee80211_tx_rate){ .idx = -1, .count = 1 };
}

/**
 * airsim_ppdu_build_tb - build an HE TB PPDU of MPDUs of a queue
 * @radio: the radio, with no exchange in progress; the medium is locked
 * @txq: the queue
 * @rate: rate of the PPDU
 * @limit_ns: its duration
 *
 * Return: false if there is nothing to send that fits.
 */
bool airsim_ppdu_build_tb(struct airsim_radio *radio, struct ieee80211_txq *txq,
			  const struct airsim_rate *rate, u32 limit_ns)
{
	bool built;

	airsim_prefetch(radio, txq->ac);
	airsim_ppdu_clear_tb(&radio->ppdu, txq->ac, rate);
	built = airsim_build_from_txq(radio, txq, limit_ns);
	if (built)
		airsim_ppdu_complete(radio);
	airsim_txq_list_pending(radio, txq);
	return built;
}

/**
 * airsim_ppdu_build_null - build an HE TB PPDU without data
 * @radio: the radio, with no exchange in progress; the medium is locked
 * @null: a QoS Null
 * @rate: rate of the PPDU
 */
void airsim_ppdu_build_null(struct airsim_radio *radio, struct sk_buff *null,
			    const struct airsim_rate *rate)
{
	struct airsim_ppdu *ppdu = &radio->ppdu;

	airsim_ppdu_clear_tb(ppdu, IEEE80211_AC_BE, rate);
	ppdu->null = true;
	airsim_ppdu_append(ppdu, null);
	airsim_ppdu_finish_lengths(ppdu);
	ppdu->response = AIRSIM_NO_RESPONSE;
}

/**
 * airsim_ppdu_build - build the next PPDU of an access category
 * @radio: the radio, with no exchange in progress; the medium is locked
 * @ac: EDCA function
 * @limit_ns: rest of its TXOP, including the response; 0: the TXOP starts
 *
 * A single MPDU is answered by an ACK, several are sent as an A-MPDU.
 *
 * Return: false if there is nothing to send.
 */
bool airsim_ppdu_build(struct airsim_radio *radio, u8 ac, u64 limit_ns)
{
	struct airsim_ppdu *ppdu = &radio->ppdu;

	airsim_ppdu_clear(ppdu, ac);
	if ((limit_ns || !airsim_build_frame(radio, ac)) &&
	    (ac == AIRSIM_BEACON || !airsim_build_data(radio, ac, limit_ns)))
		return false;

	airsim_ppdu_complete(radio);
	if (ppdu->psdu_octets > radio->hw->wiphy->rts_threshold)
		ppdu->first = AIRSIM_RTS;
	if (ppdu->response == AIRSIM_NO_RESPONSE && ppdu->first == AIRSIM_RTS)
		ppdu->first = AIRSIM_PPDU;
	return true;
}
