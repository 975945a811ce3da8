// SPDX-License-Identifier: GPL-2.0-only
/* What mac80211 asks of a radio. */
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/platform_device.h>
#include <net/cfg80211.h>
#include <net/regulatory.h>
#include "airsim.h"

#define STREAMS		4
#define FLUSH_TRIES	200

#define CHANNEL(mhz) { .band = NL80211_BAND_5GHZ, .center_freq = (mhz), \
		       .max_power = 20 }
static const struct ieee80211_channel channels[] = {
	CHANNEL(5180), CHANNEL(5200), CHANNEL(5220), CHANNEL(5240),
	CHANNEL(5260), CHANNEL(5280), CHANNEL(5300), CHANNEL(5320),
	CHANNEL(5500), CHANNEL(5520), CHANNEL(5540), CHANNEL(5560),
	CHANNEL(5580), CHANNEL(5600), CHANNEL(5620), CHANNEL(5640),
	CHANNEL(5660), CHANNEL(5680), CHANNEL(5700), CHANNEL(5720),
	CHANNEL(5745), CHANNEL(5765), CHANNEL(5785), CHANNEL(5805),
	CHANNEL(5825),
};

/* In units of 100 kbit/s. */
static struct ieee80211_rate legacy_rates[] = {
	{ .bitrate = 60 }, { .bitrate = 90 }, { .bitrate = 120 },
	{ .bitrate = 180 }, { .bitrate = 240 }, { .bitrate = 360 },
	{ .bitrate = 480 }, { .bitrate = 540 },
};

/*
 * The air is simulated, so the whole band may be used, and no user-space
 * database is waited for.
 */
static const struct ieee80211_regdomain regulatory = {
	.n_reg_rules = 1,
	.alpha2 = "99",
	.reg_rules = { REG_RULE(5150, 5850, 160, 0, 20, 0) },
};

/**
 * airsim_legacy_index - index of a legacy rate
 * @kbps: 6000 to 54000
 */
u8 airsim_legacy_index(u16 kbps)
{
	u8 i;

	for (i = 0; i < ARRAY_SIZE(legacy_rates) - 1; i++)
		if (legacy_rates[i].bitrate * 100 >= kbps)
			break;
	return i;
}

static void enqueue(struct airsim_radio *radio, struct sk_buff *skb, u8 ac)
{
	memset(airsim_mpdu(skb), 0, sizeof(struct airsim_mpdu));
	spin_lock_bh(&radio->medium->lock);
	__skb_queue_tail(&radio->frames[ac], skb);
	spin_unlock_bh(&radio->medium->lock);
	airsim_medium_request(radio, ac);
}

static void airsim_tx(struct ieee80211_hw *hw,
		      struct ieee80211_tx_control *control,
		      struct sk_buff *skb)
{
	struct airsim_radio *radio = hw->priv;

	if (!radio->started) {
		ieee80211_free_txskb(hw, skb);
		return;
	}
	enqueue(radio, skb, skb_get_queue_mapping(skb));
}

static void airsim_wake_tx_queue(struct ieee80211_hw *hw,
				 struct ieee80211_txq *txq)
{
	airsim_medium_request(hw->priv, txq->ac);
}

static ktime_t interval(const struct airsim_radio *radio)
{
	return ns_to_ktime((u64)radio->beacon_interval_us * NSEC_PER_USEC);
}

static enum hrtimer_restart beacon_timer(struct hrtimer *timer)
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
		enqueue(radio, skb, AIRSIM_BEACON);
	}
	while ((skb = ieee80211_get_buffered_bc(radio->hw, vif)))
		enqueue(radio, skb, AIRSIM_BEACON);
	hrtimer_forward_now(timer, interval(radio));
	return HRTIMER_RESTART;
}

static int airsim_start(struct ieee80211_hw *hw)
{
	struct airsim_radio *radio = hw->priv;

	napi_enable(&radio->napi);
	radio->started = true;
	return 0;
}

static void airsim_stop(struct ieee80211_hw *hw, bool suspend)
{
	struct airsim_radio *radio = hw->priv;
	struct sk_buff *skb;
	int i;

	hrtimer_cancel(&radio->beacon_timer);
	radio->started = false;
	airsim_medium_leave(radio);
	napi_disable(&radio->napi);
	skb_queue_purge(&radio->received);
	for (i = 0; i < AIRSIM_EDCAS; i++) {
		radio->edca[i].wants = false;
		while ((skb = __skb_dequeue(&radio->frames[i])))
			ieee80211_free_txskb(hw, skb);
	}
}

static void init_txqs(struct ieee80211_txq **txq, int count)
{
	while (count--)
		if (txq[count])
			airsim_txq_init(txq[count]);
}

static int replace_vif(struct airsim_radio *radio, struct ieee80211_vif *old,
		       struct ieee80211_vif *new)
{
	int i, err = -EBUSY;

	spin_lock_bh(&radio->medium->lock);
	for (i = 0; err && i < AIRSIM_MAX_VIFS; i++) {
		if (radio->vifs[i] == old) {
			radio->vifs[i] = new;
			err = 0;
		}
	}
	spin_unlock_bh(&radio->medium->lock);
	return err;
}

static int airsim_add_interface(struct ieee80211_hw *hw,
				struct ieee80211_vif *vif)
{
	init_txqs(&vif->txq, 1);
	return replace_vif(hw->priv, NULL, vif);
}

static void forget_txqs(struct airsim_radio *radio, struct ieee80211_txq **txq,
			int count)
{
	struct sk_buff_head done;
	struct sk_buff *skb;

	__skb_queue_head_init(&done);
	spin_lock_bh(&radio->medium->lock);
	while (count--)
		if (txq[count])
			airsim_txq_forget(radio, txq[count], &done);
	spin_unlock_bh(&radio->medium->lock);
	while ((skb = __skb_dequeue(&done)))
		ieee80211_free_txskb(radio->hw, skb);
}

static void airsim_remove_interface(struct ieee80211_hw *hw,
				    struct ieee80211_vif *vif)
{
	forget_txqs(hw->priv, &vif->txq, 1);
	replace_vif(hw->priv, vif, NULL);
}

static int airsim_config(struct ieee80211_hw *hw, u32 changed)
{
	struct airsim_radio *radio = hw->priv;
	struct airsim_medium *medium;

	if (!(changed & IEEE80211_CONF_CHANGE_CHANNEL) || !radio->started)
		return 0;
	medium = airsim_medium_at(hw->conf.chandef.chan->center_freq);
	if (medium == radio->medium && !list_empty(&radio->list))
		return 0;
	airsim_medium_leave(radio);
	airsim_medium_join(medium, radio);
	return 0;
}

static void airsim_configure_filter(struct ieee80211_hw *hw,
				    unsigned int changed, unsigned int *total,
				    u64 multicast)
{
	*total &= FIF_ALLMULTI;
}

static void airsim_bss_info_changed(struct ieee80211_hw *hw,
				    struct ieee80211_vif *vif,
				    struct ieee80211_bss_conf *info,
				    u64 changed)
{
	struct airsim_radio *radio = hw->priv;

	if (!(changed & (BSS_CHANGED_BEACON_ENABLED | BSS_CHANGED_BEACON_INT)))
		return;
	hrtimer_cancel(&radio->beacon_timer);
	if (!info->enable_beacon)
		return;
	radio->beacon_vif = vif;
	radio->beacon_interval_us = info->beacon_int * 1024;
	hrtimer_start(&radio->beacon_timer, interval(radio),
		      HRTIMER_MODE_REL_SOFT);
}

static int airsim_conf_tx(struct ieee80211_hw *hw, struct ieee80211_vif *vif,
			  unsigned int link_id, u16 ac,
			  const struct ieee80211_tx_queue_params *params)
{
	struct airsim_radio *radio = hw->priv;

	spin_lock_bh(&radio->medium->lock);
	airsim_edca_configure(&radio->edca[ac], params->aifs, params->cw_min,
			      params->cw_max);
	spin_unlock_bh(&radio->medium->lock);
	return 0;
}

static u64 airsim_get_tsf(struct ieee80211_hw *hw, struct ieee80211_vif *vif)
{
	return div_u64(ktime_get_ns(), NSEC_PER_USEC);
}

static void set_buf_size(struct airsim_radio *radio, struct ieee80211_txq *txq,
			 u16 mpdus)
{
	spin_lock_bh(&radio->medium->lock);
	airsim_txq(txq)->buf_size = mpdus;
	spin_unlock_bh(&radio->medium->lock);
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
		set_buf_size(hw->priv, txq, params->buf_size);
		return 0;
	case IEEE80211_AMPDU_TX_STOP_CONT:
	case IEEE80211_AMPDU_TX_STOP_FLUSH:
	case IEEE80211_AMPDU_TX_STOP_FLUSH_CONT:
		set_buf_size(hw->priv, txq, 0);
		ieee80211_stop_tx_ba_cb_irqsafe(vif, params->sta->addr,
						params->tid);
		return 0;
	}
	return -EOPNOTSUPP;
}

static int airsim_sta_add(struct ieee80211_hw *hw, struct ieee80211_vif *vif,
			  struct ieee80211_sta *sta)
{
	init_txqs(sta->txq, ARRAY_SIZE(sta->txq));
	return 0;
}

static void airsim_sta_pre_rcu_remove(struct ieee80211_hw *hw,
				      struct ieee80211_vif *vif,
				      struct ieee80211_sta *sta)
{
	forget_txqs(hw->priv, sta->txq, ARRAY_SIZE(sta->txq));
}

static bool nothing_queued(struct airsim_radio *radio)
{
	bool empty = !radio->ppdu.active;
	int i;

	for (i = 0; i < AIRSIM_EDCAS; i++)
		empty &= skb_queue_empty_lockless(&radio->frames[i]);
	return empty;
}

static void airsim_flush(struct ieee80211_hw *hw, struct ieee80211_vif *vif,
			 u32 queues, bool drop)
{
	struct airsim_radio *radio = hw->priv;
	int tries = FLUSH_TRIES;

	while (!nothing_queued(radio) && tries--)
		usleep_range(500, 1000);
}

static const struct ieee80211_ops operations = {
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
	.get_tsf = airsim_get_tsf,
	.ampdu_action = airsim_ampdu_action,
	.sta_add = airsim_sta_add,
	.sta_pre_rcu_remove = airsim_sta_pre_rcu_remove,
	.flush = airsim_flush,
	.add_chanctx = ieee80211_emulate_add_chanctx,
	.remove_chanctx = ieee80211_emulate_remove_chanctx,
	.change_chanctx = ieee80211_emulate_change_chanctx,
	.switch_vif_chanctx = ieee80211_emulate_switch_vif_chanctx,
};

static int describe_band(struct airsim_radio *radio)
{
	struct ieee80211_supported_band *band = &radio->supported;
	struct ieee80211_sta_ht_cap *ht = &band->ht_cap;
	int i;

	band->channels = devm_kmemdup(&radio->device->dev, channels, sizeof(channels),
				      GFP_KERNEL);
	if (!band->channels)
		return -ENOMEM;
	band->n_channels = ARRAY_SIZE(channels);
	band->bitrates = legacy_rates;
	band->n_bitrates = ARRAY_SIZE(legacy_rates);
	band->band = NL80211_BAND_5GHZ;
	ht->ht_supported = true;
	ht->cap = IEEE80211_HT_CAP_SUP_WIDTH_20_40 | IEEE80211_HT_CAP_SGI_20 |
		  IEEE80211_HT_CAP_SGI_40 |
		  (WLAN_HT_CAP_SM_PS_DISABLED << IEEE80211_HT_CAP_SM_PS_SHIFT);
	ht->ampdu_factor = IEEE80211_HT_MAX_AMPDU_64K;
	ht->ampdu_density = IEEE80211_HT_MPDU_DENSITY_8;
	for (i = 0; i < STREAMS; i++)
		ht->mcs.rx_mask[i] = 0xff;
	ht->mcs.tx_params = IEEE80211_HT_MCS_TX_DEFINED;
	radio->hw->wiphy->bands[NL80211_BAND_5GHZ] = band;
	return 0;
}

static void describe_hw(struct ieee80211_hw *hw)
{
	ieee80211_hw_set(hw, SIGNAL_DBM);
	ieee80211_hw_set(hw, AMPDU_AGGREGATION);
	ieee80211_hw_set(hw, SUPPORT_FAST_XMIT);
	ieee80211_hw_set(hw, SUPPORTS_CLONED_SKBS);
	ieee80211_hw_set(hw, REPORTS_TX_ACK_STATUS);
	ieee80211_hw_set(hw, HOST_BROADCAST_PS_BUFFERING);
	ieee80211_hw_set(hw, MFP_CAPABLE);
	hw->queues = IEEE80211_NUM_ACS;
	hw->max_rates = 1;
	hw->max_rate_tries = 1;
	hw->max_rx_aggregation_subframes = AIRSIM_MAX_MPDUS;
	hw->max_tx_aggregation_subframes = AIRSIM_MAX_MPDUS;
	hw->txq_data_size = sizeof(struct airsim_txq);
	hw->wiphy->interface_modes = BIT(NL80211_IFTYPE_STATION) |
				     BIT(NL80211_IFTYPE_AP);
	hw->wiphy->available_antennas_tx = BIT(STREAMS) - 1;
	hw->wiphy->available_antennas_rx = BIT(STREAMS) - 1;
	hw->wiphy->flags &= ~WIPHY_FLAG_PS_ON_BY_DEFAULT;
	hw->wiphy->regulatory_flags |= REGULATORY_CUSTOM_REG;
	wiphy_ext_feature_set(hw->wiphy, NL80211_EXT_FEATURE_AQL);
	wiphy_ext_feature_set(hw->wiphy,
			      NL80211_EXT_FEATURE_AIRTIME_FAIRNESS);
}

static int attach_napi(struct airsim_radio *radio)
{
	radio->napi_dev = alloc_netdev_dummy(0);
	if (!radio->napi_dev)
		return -ENOMEM;
	netif_napi_add(radio->napi_dev, &radio->napi, airsim_poll);
	return 0;
}

static void detach_napi(struct airsim_radio *radio)
{
	netif_napi_del(&radio->napi);
	free_netdev(radio->napi_dev);
}

static void init_radio(struct airsim_radio *radio, unsigned int index)
{
	int i;

	INIT_LIST_HEAD(&radio->list);
	radio->medium = airsim_medium_at(channels[0].center_freq);
	for (i = 0; i < IEEE80211_NUM_ACS; i++)
		INIT_LIST_HEAD(&radio->retry_txqs[i]);
	for (i = 0; i < AIRSIM_EDCAS; i++)
		__skb_queue_head_init(&radio->frames[i]);
	skb_queue_head_init(&radio->received);
	/* Beacons go out PIFS after the medium turns idle, without backoff. */
	airsim_edca_configure(&radio->edca[AIRSIM_BEACON], 1, 0, 0);
	hrtimer_init(&radio->beacon_timer, CLOCK_MONOTONIC,
		     HRTIMER_MODE_REL_SOFT);
	radio->beacon_timer.function = beacon_timer;
	radio->address.addr[0] = 0x02;
	radio->address.addr[4] = index;
}

/**
 * airsim_radio_create - make a radio and give it to mac80211
 * @index: the fifth octet of its MAC address, 02:00:00:00:XX:00
 *
 * Return: the radio, or an ERR_PTR().
 */
struct airsim_radio *airsim_radio_create(unsigned int index)
{
	struct platform_device *device;
	struct airsim_radio *radio;
	struct ieee80211_hw *hw;
	int err = -ENOMEM;

	hw = ieee80211_alloc_hw(sizeof(*radio), &operations);
	if (!hw)
		return ERR_PTR(err);
	radio = hw->priv;
	radio->hw = hw;
	init_radio(radio, index);
	device = platform_device_register_simple("airsim", index, NULL, 0);
	if (IS_ERR(device)) {
		err = PTR_ERR(device);
		goto free_hw;
	}
	radio->device = device;
	SET_IEEE80211_DEV(hw, &device->dev);
	SET_IEEE80211_PERM_ADDR(hw, radio->address.addr);
	err = attach_napi(radio);
	if (err)
		goto remove_device;
	describe_hw(hw);
	err = describe_band(radio);
	if (err)
		goto detach;
	wiphy_apply_custom_regulatory(hw->wiphy, &regulatory);
	err = ieee80211_register_hw(hw);
	if (err)
		goto detach;
	return radio;

detach:
	detach_napi(radio);
remove_device:
	platform_device_unregister(device);
free_hw:
	ieee80211_free_hw(hw);
	return ERR_PTR(err);
}

/**
 * airsim_radio_destroy - take a radio from mac80211 and free it
 * @radio: the radio
 */
void airsim_radio_destroy(struct airsim_radio *radio)
{
	ieee80211_unregister_hw(radio->hw);
	detach_napi(radio);
	platform_device_unregister(radio->device);
	ieee80211_free_hw(radio->hw);
}
