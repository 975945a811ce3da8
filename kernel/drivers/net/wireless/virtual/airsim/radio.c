// SPDX-License-Identifier: GPL-2.0-only
/* mac80211 operations. */
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <net/cfg80211.h>
#include "airsim.h"

#define FLUSH_TRIES	200

/*
 * Prefix of MAC addresses: locally administered, different from
 * mac80211_hwsim's.
 */
static const u8 airsim_address_prefix[] = { 0x02, 'a', 'i', 'r' };

static void airsim_enqueue(struct airsim_radio *radio, struct sk_buff *skb,
			   u8 ac)
{
	airsim_mpdu_init(skb);
	spin_lock_bh(&airsim_medium.lock);
	__skb_queue_tail(&radio->frames[ac], skb);
	radio->count.taken++;
	spin_unlock_bh(&airsim_medium.lock);
	airsim_medium_request(radio, ac);
}

static void airsim_tx(struct ieee80211_hw *hw,
		      struct ieee80211_tx_control *control,
		      struct sk_buff *skb)
{
	struct airsim_radio *radio = hw->priv;

	if (!READ_ONCE(radio->started)) {
		ieee80211_free_txskb(hw, skb);
		return;
	}
	airsim_enqueue(radio, skb, skb_get_queue_mapping(skb));
}

static void airsim_wake_tx_queue(struct ieee80211_hw *hw,
				 struct ieee80211_txq *txq)
{
	airsim_medium_request(hw->priv, txq->ac);
}

static ktime_t airsim_beacon_interval(const struct airsim_radio *radio)
{
	return ns_to_ktime((u64)radio->beacon_interval_us * NSEC_PER_USEC);
}

static enum hrtimer_restart airsim_beacon_timer(struct hrtimer *timer)
{
	struct airsim_radio *radio =
		container_of(timer, struct airsim_radio, beacon_timer);
	struct ieee80211_vif *vif = radio->beacon_vif;
	struct ieee80211_mgmt *mgmt;
	struct sk_buff *skb;

	skb = ieee80211_beacon_get(radio->hw, vif, 0);
	if (skb) {
		mgmt = (void *)skb->data;
		mgmt->u.beacon.timestamp =
			cpu_to_le64(div_u64(ktime_get_ns(), NSEC_PER_USEC));
		airsim_enqueue(radio, skb, AIRSIM_BEACON);
	}
	while ((skb = ieee80211_get_buffered_bc(radio->hw, vif)))
		airsim_enqueue(radio, skb, AIRSIM_BEACON);
	hrtimer_forward_now(timer, airsim_beacon_interval(radio));
	return HRTIMER_RESTART;
}

static int airsim_start(struct ieee80211_hw *hw)
{
	struct airsim_radio *radio = hw->priv;

	napi_enable(&radio->napi);
	WRITE_ONCE(radio->started, true);
	return 0;
}

/* Drops received and unsent frames. */
static void airsim_drop_all(struct airsim_radio *radio)
{
	struct sk_buff_head received, unsent;
	struct sk_buff *skb;
	int i;

	__skb_queue_head_init(&received);
	__skb_queue_head_init(&unsent);
	spin_lock_bh(&airsim_medium.lock);
	skb_queue_splice_init(&radio->arrived, &received);
	spin_lock(&radio->received.lock);
	skb_queue_splice_init(&radio->received, &received);
	spin_unlock(&radio->received.lock);
	for (i = 0; i < AIRSIM_EDCAS; i++) {
		radio->edca[i].pending = false;
		skb_queue_splice_tail_init(&radio->frames[i], &unsent);
	}
	radio->count.rx_dropped_stopped += skb_queue_len(&received);
	radio->count.dropped_stopped += skb_queue_len(&unsent);
	spin_unlock_bh(&airsim_medium.lock);
	__skb_queue_purge(&received);
	while ((skb = __skb_dequeue(&unsent)))
		ieee80211_free_txskb(radio->hw, skb);
}

static void airsim_stop(struct ieee80211_hw *hw, bool suspend)
{
	struct airsim_radio *radio = hw->priv;

	hrtimer_cancel(&radio->beacon_timer);
	WRITE_ONCE(radio->started, false);
	airsim_medium_leave(radio);
	airsim_completions_stop(radio);
	hrtimer_cancel(&radio->coalesce_timer);
	napi_disable(&radio->napi);
	airsim_drop_all(radio);
}

static void airsim_init_txqs(struct ieee80211_txq **txq, int count)
{
	while (count--)
		if (txq[count])
			airsim_txq_init(txq[count]);
}

static void airsim_set_vif(struct airsim_radio *radio,
			   struct ieee80211_vif *vif)
{
	spin_lock_bh(&airsim_medium.lock);
	radio->vif = vif;
	spin_unlock_bh(&airsim_medium.lock);
}

static struct net_device *airsim_vif_netdev(struct ieee80211_vif *vif)
{
	return ieee80211_vif_to_wdev(vif)->netdev;
}

static int airsim_add_interface(struct ieee80211_hw *hw,
				struct ieee80211_vif *vif)
{
	struct net_device *device = airsim_vif_netdev(vif);
	struct airsim_radio *radio = hw->priv;
	int err;

	/*
	 * No interface combinations are advertised, so mac80211 adds only one.
	 */
	if (WARN_ON_ONCE(radio->vif))
		return -EBUSY;
	if (device) {
		err = airsim_ack_hold_attach(radio, device);
		if (err)
			return err;
	}
	airsim_init_txqs(&vif->txq, 1);
	airsim_set_vif(radio, vif);
	return 0;
}

static void airsim_detach_txqs(struct airsim_radio *radio,
			       struct ieee80211_txq **txq, int count)
{
	struct sk_buff_head done;
	struct sk_buff *skb;
	unsigned long waiting;
	int ac;

	__skb_queue_head_init(&done);
	spin_lock_bh(&airsim_medium.lock);
	while (count--)
		if (txq[count])
			airsim_txq_detach(radio, txq[count], &done);
	waiting = radio->fifo_waiting;
	radio->fifo_waiting = 0;
	spin_unlock_bh(&airsim_medium.lock);
	for_each_set_bit(ac, &waiting, IEEE80211_NUM_ACS)
		airsim_resume(radio, ac);
	while ((skb = __skb_dequeue(&done)))
		ieee80211_free_txskb(radio->hw, skb);
}

static void airsim_remove_interface(struct ieee80211_hw *hw,
				    struct ieee80211_vif *vif)
{
	if (airsim_vif_netdev(vif))
		airsim_ack_hold_detach(hw->priv, airsim_vif_netdev(vif));
	airsim_detach_txqs(hw->priv, &vif->txq, 1);
	airsim_set_vif(hw->priv, NULL);
}

static int airsim_config(struct ieee80211_hw *hw, u32 changed)
{
	struct airsim_radio *radio = hw->priv;

	if (changed & IEEE80211_CONF_CHANGE_CHANNEL && radio->started)
		airsim_medium_tune(radio, &hw->conf.chandef);
	if (changed & IEEE80211_CONF_CHANGE_PS)
		airsim_doze(radio, hw->conf.flags & IEEE80211_CONF_PS);
	return 0;
}

static void airsim_configure_filter(struct ieee80211_hw *hw,
				    unsigned int changed, unsigned int *total,
				    u64 multicast)
{
	*total &= FIF_ALLMULTI;
}

static void airsim_update_slot(struct airsim_radio *radio)
{
	spin_lock_bh(&airsim_medium.lock);
	radio->phy = airsim_phy_of(radio, airsim_band(radio));
	spin_unlock_bh(&airsim_medium.lock);
}

static void airsim_bss_info_changed(struct ieee80211_hw *hw,
				    struct ieee80211_vif *vif,
				    struct ieee80211_bss_conf *info,
				    u64 changed)
{
	struct airsim_radio *radio = hw->priv;

	if (changed & BSS_CHANGED_ERP_SLOT)
		airsim_update_slot(radio);
	if (!(changed & (BSS_CHANGED_BEACON_ENABLED | BSS_CHANGED_BEACON_INT)))
		return;
	hrtimer_cancel(&radio->beacon_timer);
	if (!info->enable_beacon)
		return;
	radio->beacon_vif = vif;
	radio->beacon_interval_us = info->beacon_int * 1024;
	hrtimer_start(&radio->beacon_timer, airsim_beacon_interval(radio),
		      HRTIMER_MODE_REL_SOFT);
}

static int airsim_conf_tx(struct ieee80211_hw *hw, struct ieee80211_vif *vif,
			  unsigned int link_id, u16 ac,
			  const struct ieee80211_tx_queue_params *params)
{
	struct airsim_radio *radio = hw->priv;

	spin_lock_bh(&airsim_medium.lock);
	airsim_mu_edca_configure(radio, ac, params);
	radio->edca[ac].txop_ns = params->txop * 32 * NSEC_PER_USEC;
	spin_unlock_bh(&airsim_medium.lock);
	return 0;
}

/* cfg80211 stores it, and airsim_ppdu_build() reads it there. */
static int airsim_set_rts_threshold(struct ieee80211_hw *hw, u32 value)
{
	return 0;
}

static u64 airsim_get_tsf(struct ieee80211_hw *hw, struct ieee80211_vif *vif)
{
	return div_u64(ktime_get_ns(), NSEC_PER_USEC);
}

static void airsim_set_buf_size(struct airsim_radio *radio,
				struct ieee80211_txq *txq, u16 mpdus)
{
	spin_lock_bh(&airsim_medium.lock);
	airsim_txq(txq)->buf_size = mpdus;
	spin_unlock_bh(&airsim_medium.lock);
}

static int airsim_ampdu_action(struct ieee80211_hw *hw,
			       struct ieee80211_vif *vif,
			       struct ieee80211_ampdu_params *params)
{
	struct ieee80211_txq *txq = params->sta->txq[params->tid];

	switch (params->action) {
	case IEEE80211_AMPDU_RX_START:
	case IEEE80211_AMPDU_RX_STOP:
		return 0;
	case IEEE80211_AMPDU_TX_START:
		return IEEE80211_AMPDU_TX_START_IMMEDIATE;
	case IEEE80211_AMPDU_TX_OPERATIONAL:
		airsim_set_buf_size(hw->priv, txq, params->buf_size);
		return 0;
	case IEEE80211_AMPDU_TX_STOP_CONT:
	case IEEE80211_AMPDU_TX_STOP_FLUSH:
	case IEEE80211_AMPDU_TX_STOP_FLUSH_CONT:
		airsim_set_buf_size(hw->priv, txq, 0);
		ieee80211_stop_tx_ba_cb_irqsafe(vif, params->sta->addr,
						params->tid);
		return 0;
	}
	return -EOPNOTSUPP;
}

/*
 * The radio encrypts frames between two stations: on the air they are as long as
 * if they were encrypted, but stay readable. mac80211 encrypts those to groups.
 */
static int airsim_set_key(struct ieee80211_hw *hw, enum set_key_cmd cmd,
			  struct ieee80211_vif *vif, struct ieee80211_sta *sta,
			  struct ieee80211_key_conf *key)
{
	if (!(key->flags & IEEE80211_KEY_FLAG_PAIRWISE))
		return 1;
	switch (key->cipher) {
	case WLAN_CIPHER_SUITE_CCMP:
	case WLAN_CIPHER_SUITE_CCMP_256:
	case WLAN_CIPHER_SUITE_GCMP:
	case WLAN_CIPHER_SUITE_GCMP_256:
		return 0;
	}
	return 1;
}

/* Replaces the access point of a station; before: NULL for any. */
static void airsim_set_ap(struct airsim_radio *radio,
			  const struct ieee80211_sta *before,
			  struct ieee80211_sta *after)
{
	spin_lock_bh(&airsim_medium.lock);
	if (!before || radio->ap == before)
		radio->ap = after;
	spin_unlock_bh(&airsim_medium.lock);
}

static int airsim_sta_add(struct ieee80211_hw *hw, struct ieee80211_vif *vif,
			  struct ieee80211_sta *sta)
{
	struct airsim_sta *asta = (struct airsim_sta *)sta->drv_priv;

	asta->peer = airsim_peer_add(hw->priv, sta->addr);
	if (!asta->peer)
		return -ENOMEM;
	airsim_init_txqs(sta->txq, ARRAY_SIZE(sta->txq));
	if (vif->type == NL80211_IFTYPE_STATION)
		airsim_set_ap(hw->priv, NULL, sta);
	return 0;
}

static void airsim_sta_pre_rcu_remove(struct ieee80211_hw *hw,
				      struct ieee80211_vif *vif,
				      struct ieee80211_sta *sta)
{
	airsim_peer_left((struct airsim_sta *)sta->drv_priv);
	if (vif->type == NL80211_IFTYPE_STATION)
		airsim_set_ap(hw->priv, sta, NULL);
	airsim_detach_txqs(hw->priv, sta->txq, ARRAY_SIZE(sta->txq));
}

static bool airsim_tx_idle(struct airsim_radio *radio)
{
	bool empty;
	int i;

	spin_lock_bh(&airsim_medium.lock);
	empty = radio->exchange.stage == AIRSIM_STAGE_NONE;
	for (i = 0; i < AIRSIM_EDCAS; i++)
		empty &= skb_queue_empty(&radio->frames[i]);
	for (i = 0; i < IEEE80211_NUM_ACS; i++)
		empty &= !airsim_first_pending(radio, i);
	spin_unlock_bh(&airsim_medium.lock);
	return empty;
}

static void airsim_flush(struct ieee80211_hw *hw, struct ieee80211_vif *vif,
			 u32 queues, bool drop)
{
	struct airsim_radio *radio = hw->priv;
	int tries = FLUSH_TRIES;

	while (!airsim_tx_idle(radio) && tries--)
		usleep_range(500, 1000);
}

static const struct ieee80211_ops airsim_ops = {
	.tx = airsim_tx,
	.wake_tx_queue = airsim_wake_tx_queue,
	.start = airsim_start,
	.stop = airsim_stop,
	.add_interface = airsim_add_interface,
	.remove_interface = airsim_remove_interface,
	.config = airsim_config,
	.configure_filter = airsim_configure_filter,
	.bss_info_changed = airsim_bss_info_changed,
	.conf_tx = airsim_conf_tx,
	.set_rts_threshold = airsim_set_rts_threshold,
	.get_tsf = airsim_get_tsf,
	.set_key = airsim_set_key,
	.ampdu_action = airsim_ampdu_action,
	.sta_add = airsim_sta_add,
	.sta_notify = airsim_sta_notify,
	.sta_pre_rcu_remove = airsim_sta_pre_rcu_remove,
	.flush = airsim_flush,
	.add_chanctx = ieee80211_emulate_add_chanctx,
	.remove_chanctx = ieee80211_emulate_remove_chanctx,
	.change_chanctx = ieee80211_emulate_change_chanctx,
	.switch_vif_chanctx = ieee80211_emulate_switch_vif_chanctx,
};

static int airsim_attach_napi(struct airsim_radio *radio)
{
	radio->napi_dev = alloc_netdev_dummy(0);
	if (!radio->napi_dev)
		return -ENOMEM;
	netif_napi_add(radio->napi_dev, &radio->napi, airsim_poll);
	return 0;
}

static void airsim_detach_napi(struct airsim_radio *radio)
{
	netif_napi_del(&radio->napi);
	free_netdev(radio->napi_dev);
}

static void airsim_radio_init(struct airsim_radio *radio,
			      const struct airsim_hardware *hardware,
			      const struct airsim_settings *settings, u32 index)
{
	int i;

	radio->index = index;
	radio->hardware = *hardware;
	radio->settings = *settings;
	radio->phy = &airsim_phy_5ghz;
	xa_init(&radio->losses_mdb);
	xa_init(&radio->link_rates);
	INIT_LIST_HEAD(&radio->list);
	INIT_LIST_HEAD(&radio->peers);
	for (i = 0; i < IEEE80211_NUM_ACS; i++)
		INIT_LIST_HEAD(&radio->retry_txqs[i]);
	for (i = 0; i < AIRSIM_EDCAS; i++)
		__skb_queue_head_init(&radio->frames[i]);
	for (i = 0; i < AIRSIM_EVENTS; i++) {
		timerqueue_init(&radio->event[i].node);
		radio->event[i].radio = radio;
		radio->event[i].kind = i;
	}
	__skb_queue_head_init(&radio->arrived);
	skb_queue_head_init(&radio->received);
	/*
	 * Beacons are sent PIFS after the medium turns idle, without backoff.
	 */
	airsim_edca_configure(&radio->edca[AIRSIM_BEACON], 1, 0, 0);
	hrtimer_init(&radio->beacon_timer, CLOCK_MONOTONIC,
		     HRTIMER_MODE_REL_SOFT);
	radio->beacon_timer.function = airsim_beacon_timer;
	hrtimer_init(&radio->coalesce_timer, CLOCK_MONOTONIC,
		     HRTIMER_MODE_REL_SOFT);
	radio->coalesce_timer.function = airsim_coalesce_timer;
	INIT_LIST_HEAD(&radio->completions);
	hrtimer_init(&radio->completion_timer, CLOCK_MONOTONIC,
		     HRTIMER_MODE_ABS_SOFT);
	radio->completion_timer.function = airsim_completion_timer;
	memcpy(radio->address.addr, airsim_address_prefix,
	       sizeof(airsim_address_prefix));
	radio->address.addr[4] = index;
}

/**
 * airsim_radio_create - create a radio and register it with mac80211
 * @hardware: radio capabilities
 * @settings: radio settings
 * @index: number of the radio; fifth octet of its MAC address,
 *	02:61:69:72:XX:00
 *
 * Return: the radio, or an ERR_PTR().
 */
struct airsim_radio *airsim_radio_create(const struct airsim_hardware *hardware,
					 const struct airsim_settings *settings,
					 u32 index)
{
	struct platform_device *device;
	struct airsim_radio *radio;
	struct ieee80211_hw *hw;
	int err = -ENOMEM;

	hw = ieee80211_alloc_hw(sizeof(*radio), &airsim_ops);
	if (!hw)
		return ERR_PTR(err);
	radio = hw->priv;
	radio->hw = hw;
	airsim_radio_init(radio, hardware, settings, index);
	device = platform_device_register_simple("airsim", index, NULL, 0);
	if (IS_ERR(device)) {
		err = PTR_ERR(device);
		goto free_hw;
	}
	radio->device = device;
	SET_IEEE80211_DEV(hw, &device->dev);
	SET_IEEE80211_PERM_ADDR(hw, radio->address.addr);
	err = airsim_attach_napi(radio);
	if (err)
		goto remove_device;
	err = airsim_ack_hold_create(radio);
	if (err)
		goto detach;
	err = airsim_describe(radio);
	if (err)
		goto destroy_hold;
	err = ieee80211_register_hw(hw);
	if (err)
		goto destroy_hold;
	airsim_set_codel(radio);
	return radio;

destroy_hold:
	airsim_ack_hold_destroy(radio);
detach:
	airsim_detach_napi(radio);
remove_device:
	platform_device_unregister(device);
free_hw:
	ieee80211_free_hw(hw);
	return ERR_PTR(err);
}

/**
 * airsim_radio_destroy - unregister a radio and free it
 * @radio: the radio
 */
void airsim_radio_destroy(struct airsim_radio *radio)
{
	struct airsim_link_rate *given;
	unsigned long index;

	ieee80211_unregister_hw(radio->hw);
	hrtimer_cancel(&radio->beacon_timer);
	airsim_ack_hold_destroy(radio);
	airsim_detach_napi(radio);
	platform_device_unregister(radio->device);
	xa_destroy(&radio->losses_mdb);
	xa_for_each(&radio->link_rates, index, given)
		kfree(given);
	xa_destroy(&radio->link_rates);
	airsim_peers_free(radio);
	ieee80211_free_hw(radio->hw);
}
