// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reports to mac80211: airtime for fairness, the result of each PPDU for rate
 * control, and the tx status of each MPDU.
 */
#include <linux/ieee80211.h>
#include "airsim.h"

static void airsim_set_outcome(const struct airsim_report *report,
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
	    sta->deflink.ht_cap.ht_supported &&
	    sta->txq[tid]->ac != IEEE80211_AC_VO)
		ieee80211_start_tx_ba_session(sta, tid, 0);
}

/**
 * airsim_report_flush - deliver a report to mac80211
 * @report: the report; the medium is not locked, under rcu_read_lock()
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
		airsim_update_rate_control(hw, status.sta, report);
	else if (status.sta && report->qos)
		airsim_start_ba_session(hw, status.sta, report->tid);
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
