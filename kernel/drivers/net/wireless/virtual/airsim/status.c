// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reports to mac80211: airtime for fairness, the result of each PPDU for rate
 * control, and the tx status of each MPDU. With the setting completion_us they
 * are late, as with hardware whose driver handles completions in batches or
 * from a bus.
 */
#include <linux/ieee80211.h>
#include <linux/slab.h>
#include "airsim.h"

/**
 * struct airsim_completion - a delayed report
 * @list: entry in the radio's list
 * @due_ns: when it is delivered
 * @report: the report
 */
struct airsim_completion {
	struct list_head list;
	u64 due_ns;
	struct airsim_report report;
};

/* mac80211 counts the MPDUs of a PPDU in u8: larger numbers are scaled down, as
 * rate control needs their ratio
 */
static u8 airsim_scaled(const struct airsim_report *report, u32 mpdus)
{
	if (report->mpdus <= U8_MAX)
		return mpdus;
	return mpdus * U8_MAX / report->mpdus;
}

static void airsim_set_outcome(const struct airsim_report *report,
			       struct ieee80211_tx_info *info)
{
	info->flags |= IEEE80211_TX_STAT_AMPDU;
	if (report->probe)
		info->flags |= IEEE80211_TX_CTL_RATE_CTRL_PROBE;
	info->status.rates[0] = report->chosen;
	info->status.rates[1].idx = -1;
	info->status.ampdu_len = airsim_scaled(report, report->mpdus);
	info->status.ampdu_ack_len = airsim_scaled(report, report->acked);
}

/*
 * Rate control is updated for every PPDU: with the first finished MPDU, which
 * AQL uses as well, or separately if all MPDUs are retransmitted.
 */
static void airsim_update_rate_control(struct ieee80211_hw *hw,
				       struct ieee80211_sta *sta,
				       struct airsim_report *report)
{
	struct ieee80211_tx_info info = { .flags = IEEE80211_TX_CTL_AMPDU };
	struct sk_buff *first = skb_peek(&report->done);

	if (first) {
		airsim_set_outcome(report, IEEE80211_SKB_CB(first));
		return;
	}
	info.band = hw->conf.chandef.chan->band;
	airsim_set_outcome(report, &info);
	ieee80211_tx_rate_update(hw, sta, &info);
}

/*
 * minstrel_ht starts BlockAck sessions; with fixed rates the driver has to.
 * Like minstrel_ht it excludes voice.
 */
static void airsim_start_ba_session(struct ieee80211_hw *hw,
				    struct ieee80211_sta *sta, u8 tid)
{
	if (ieee80211_hw_check(hw, HAS_RATE_CONTROL) &&
	    (sta->deflink.ht_cap.ht_supported || sta->deflink.he_cap.has_he) &&
	    sta->txq[tid]->ac != IEEE80211_AC_VO)
		ieee80211_start_tx_ba_session(sta, tid, 0);
}

/* Frees the skbs, and so lets TCP small queues send more. */
static void airsim_report_deliver(struct airsim_report *report)
{
	struct ieee80211_hw *hw = report->radio->hw;
	struct ieee80211_rate_status rate = { .try_count = 1 };
	struct ieee80211_tx_status status = {};
	struct sk_buff *skb;

	airsim_receive_with_tx(report->radio);
	status.sta = ieee80211_find_sta_by_ifaddr(hw, report->receiver,
						  report->sender);
	if (status.sta && report->airtime_us)
		ieee80211_sta_register_airtime(status.sta, report->tid,
					       report->airtime_us, 0);
	if (status.sta && report->session)
		airsim_update_rate_control(hw, status.sta, report);
	else if (status.sta && report->qos)
		airsim_start_ba_session(hw, status.sta, report->tid);
	if (report->rate.format >= AIRSIM_HE) {
		airsim_rate_to_info(&report->rate, &rate.rate_idx);
		status.rates = &rate;
		status.n_rates = 1;
	}
	while ((skb = __skb_dequeue(&report->done))) {
		status.skb = skb;
		status.info = IEEE80211_SKB_CB(skb);
		ieee80211_tx_status_ext(hw, &status);
	}
}

static bool airsim_report_delay(struct airsim_report *report, u32 delay_us)
{
	struct airsim_radio *radio = report->radio;
	struct airsim_completion *late = kmalloc(sizeof(*late), GFP_ATOMIC);

	if (!late)
		return false;
	late->report = *report;
	__skb_queue_head_init(&late->report.done);
	skb_queue_splice_init(&report->done, &late->report.done);
	late->due_ns = ktime_get_ns() + (u64)delay_us * NSEC_PER_USEC;
	spin_lock_bh(&airsim_medium.lock);
	if (list_empty(&radio->completions))
		hrtimer_start(&radio->completion_timer,
			      ns_to_ktime(late->due_ns), HRTIMER_MODE_ABS_SOFT);
	list_add_tail(&late->list, &radio->completions);
	spin_unlock_bh(&airsim_medium.lock);
	return true;
}

/* Takes the first delayed report if it is due, else starts the timer. */
static struct airsim_completion *
airsim_completion_take(struct airsim_radio *radio, u64 now_ns)
{
	struct airsim_completion *first;

	spin_lock_bh(&airsim_medium.lock);
	first = list_first_entry_or_null(&radio->completions,
					 struct airsim_completion, list);
	if (first && first->due_ns > now_ns) {
		hrtimer_start(&radio->completion_timer,
			      ns_to_ktime(first->due_ns),
			      HRTIMER_MODE_ABS_SOFT);
		first = NULL;
	}
	if (first)
		list_del(&first->list);
	spin_unlock_bh(&airsim_medium.lock);
	return first;
}

static void airsim_completions_deliver(struct airsim_radio *radio, u64 now_ns)
{
	struct airsim_completion *late;

	rcu_read_lock();
	while ((late = airsim_completion_take(radio, now_ns))) {
		airsim_report_deliver(&late->report);
		/* AQL may have stopped the queue until now */
		airsim_resume(radio, late->report.ac);
		kfree(late);
	}
	rcu_read_unlock();
}

/**
 * airsim_completion_timer - delayed reports are due
 * @timer: a radio's timer
 */
enum hrtimer_restart airsim_completion_timer(struct hrtimer *timer)
{
	struct airsim_radio *radio =
		container_of(timer, struct airsim_radio, completion_timer);

	airsim_completions_deliver(radio, ktime_get_ns());
	return HRTIMER_NORESTART;
}

/**
 * airsim_completions_stop - deliver all delayed reports of a radio
 * @radio: the radio, which has left the medium
 */
void airsim_completions_stop(struct airsim_radio *radio)
{
	hrtimer_cancel(&radio->completion_timer);
	local_bh_disable();
	airsim_completions_deliver(radio, U64_MAX);
	local_bh_enable();
}

/**
 * airsim_report_flush - report to mac80211, now or after the setting's time
 * @report: the report; the medium is not locked, under rcu_read_lock()
 */
void airsim_report_flush(struct airsim_report *report)
{
	u32 delay_us = READ_ONCE(report->radio->settings.completion_us);

	if (!delay_us || !airsim_report_delay(report, delay_us))
		airsim_report_deliver(report);
}
