// SPDX-License-Identifier: GPL-2.0-only
/*
 * Power save: a radio that dozes, and MPDUs for stations that do.
 *
 * mac80211 decides when a station dozes, tells its access point with null data
 * frames, and buffers frames for it. What the access point's radio has already
 * taken from mac80211 waits here.
 */
#include "airsim.h"

/**
 * airsim_doze - a radio enters or leaves power save
 * @radio: the radio
 * @doze: whether it dozes
 *
 * It wakes for beacons and group addressed frames.
 */
void airsim_doze(struct airsim_radio *radio, bool doze)
{
	spin_lock_bh(&airsim_medium.lock);
	radio->count.doze_ns = airsim_doze_ns(radio);
	radio->dozing = doze;
	radio->doze_since_ns = ktime_get_ns();
	spin_unlock_bh(&airsim_medium.lock);
}

/**
 * airsim_doze_ns - time that a radio has spent in power save
 * @radio: the radio; the medium is locked
 */
u64 airsim_doze_ns(const struct airsim_radio *radio)
{
	u64 doze_ns = radio->count.doze_ns;

	if (radio->dozing)
		doze_ns += ktime_get_ns() - radio->doze_since_ns;
	return doze_ns;
}

/* TIDs of a station that have MPDUs in the driver. */
static u32 airsim_pending_tids(const struct airsim_radio *radio,
			       const struct ieee80211_sta *sta)
{
	u32 tids = 0;
	int tid;

	for (tid = 0; tid < IEEE80211_NUM_TIDS; tid++) {
		struct ieee80211_txq *txq = sta->txq[tid];

		if (!skb_queue_empty(&airsim_txq(txq)->pending) ||
		    (radio->exchange.stage != AIRSIM_STAGE_NONE &&
		     radio->ppdu.txq == txq))
			tids |= BIT(tid);
	}
	return tids;
}

/**
 * airsim_sta_notify - a station has changed its power save mode
 * @hw: the access point's radio
 * @vif: its interface
 * @cmd: whether the station sleeps
 * @sta: the station
 */
void airsim_sta_notify(struct ieee80211_hw *hw, struct ieee80211_vif *vif,
		       enum sta_notify_cmd cmd, struct ieee80211_sta *sta)
{
	struct airsim_sta *asta = (struct airsim_sta *)sta->drv_priv;
	struct airsim_radio *radio = hw->priv;
	unsigned long tids;
	int tid;

	spin_lock_bh(&airsim_medium.lock);
	asta->asleep = cmd == STA_NOTIFY_SLEEP;
	tids = airsim_pending_tids(radio, sta);
	if (!asta->asleep)
		for_each_set_bit(tid, &tids, IEEE80211_NUM_TIDS)
			airsim_txq_list_pending(radio, sta->txq[tid]);
	spin_unlock_bh(&airsim_medium.lock);
	for_each_set_bit(tid, &tids, IEEE80211_NUM_TIDS) {
		if (cmd == STA_NOTIFY_SLEEP)
			ieee80211_sta_set_buffered(sta, tid, true);
		else
			airsim_medium_request(radio, sta->txq[tid]->ac);
	}
}
