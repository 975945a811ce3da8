// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tells mac80211 what has become of its frames: airtime for its fairness, the
 * outcome of each PPDU for rate control, and each MPDU that is done with.
 */
#include <linux/ieee80211.h>
#include "airsim.h"

static void airsim_tell_outcome(const struct airsim_report *report,
				struct ieee80211_tx_info *info)
{
	info->flags |= IEEE80211_TX_STAT_AMPDU;
	if (report->probe)
		info->flags |= IEEE80211_TX_CTL_RATE_CTRL_PROBE;
	info->status.rates[0] = report->chosen;
	info->status.rates[1].idx = -1;
	info->status.ampdu_len = report->mpdus;
	info->status.ampdu_ack_len = report->acked;
}

/*
 * Rate control hears of every PPDU: by the first MPDU that is done with, which
 * tells AQL too, or by itself if all are to be sent again.
 */
static void airsim_feed_rate_control(struct ieee80211_hw *hw,
				     struct ieee80211_sta *sta,
				     struct airsim_report *report)
{
	struct ieee80211_tx_info info = { .flags = IEEE80211_TX_CTL_AMPDU };
	struct sk_buff *first = skb_peek(&report->done);

	if (first) {
		airsim_tell_outcome(report, IEEE80211_SKB_CB(first));
		return;
	}
	info.band = hw->conf.chandef.chan->band;
	airsim_tell_outcome(report, &info);
	ieee80211_tx_rate_update(hw, sta, &info);
}

/*
 * minstrel_ht asks for BlockAck sessions; with fixed rates nobody else does.
 * As minstrel_ht it leaves voice alone.
 */
static void airsim_ask_for_session(struct ieee80211_hw *hw,
				   struct ieee80211_sta *sta, u8 tid)
{
	if (ieee80211_hw_check(hw, HAS_RATE_CONTROL) &&
	    sta->deflink.ht_cap.ht_supported &&
	    sta->txq[tid]->ac != IEEE80211_AC_VO)
		ieee80211_start_tx_ba_session(sta, tid, 0);
}

/**
 * airsim_report_flush - tell mac80211
 * @report: what; the medium not locked, under rcu_read_lock()
 *
 * This frees the skbs, and so lets TCP small queues send more.
 */
void airsim_report_flush(struct airsim_report *report)
{
	struct ieee80211_hw *hw = report->radio->hw;
	struct ieee80211_rate_status rate = { .try_count = 1 };
	struct ieee80211_tx_status status = {};
	struct sk_buff *skb;

	status.sta = ieee80211_find_sta_by_ifaddr(hw, report->receiver,
						  report->sender);
	if (status.sta && report->airtime_us && report->qos)
		ieee80211_sta_register_airtime(status.sta, report->tid,
					       report->airtime_us, 0);
	if (status.sta && report->session)
		airsim_feed_rate_control(hw, status.sta, report);
	else if (status.sta && report->qos)
		airsim_ask_for_session(hw, status.sta, report->tid);
	if (report->rate.format == AIRSIM_HE) {
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
