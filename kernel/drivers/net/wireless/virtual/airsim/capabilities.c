// SPDX-License-Identifier: GPL-2.0-only
/* Radio capabilities reported to mac80211. */
#include <linux/log2.h>
#include <linux/platform_device.h>
#include <net/cfg80211.h>
#include <net/regulatory.h>
#include "airsim.h"

#define CHANNEL(in, mhz) { .band = (in), .center_freq = (mhz), .max_power = 20 }
#define CHANNEL_2(mhz) CHANNEL(NL80211_BAND_2GHZ, mhz)
#define CHANNEL_5(mhz) CHANNEL(NL80211_BAND_5GHZ, mhz)

static const struct ieee80211_channel airsim_channels_2ghz[] = {
	CHANNEL_2(2412), CHANNEL_2(2417), CHANNEL_2(2422), CHANNEL_2(2427),
	CHANNEL_2(2432), CHANNEL_2(2437), CHANNEL_2(2442), CHANNEL_2(2447),
	CHANNEL_2(2452), CHANNEL_2(2457), CHANNEL_2(2462), CHANNEL_2(2467),
	CHANNEL_2(2472),
};

static const struct ieee80211_channel airsim_channels_5ghz[] = {
	CHANNEL_5(5180), CHANNEL_5(5200), CHANNEL_5(5220), CHANNEL_5(5240),
	CHANNEL_5(5260), CHANNEL_5(5280), CHANNEL_5(5300), CHANNEL_5(5320),
	CHANNEL_5(5500), CHANNEL_5(5520), CHANNEL_5(5540), CHANNEL_5(5560),
	CHANNEL_5(5580), CHANNEL_5(5600), CHANNEL_5(5620), CHANNEL_5(5640),
	CHANNEL_5(5660), CHANNEL_5(5680), CHANNEL_5(5700), CHANNEL_5(5720),
	CHANNEL_5(5745), CHANNEL_5(5765), CHANNEL_5(5785), CHANNEL_5(5805),
	CHANNEL_5(5825),
};

/*
 * In units of 100 kbit/s, in the order of airsim_legacy_kbps; 5 GHz has those
 * from the fifth on. No short preambles.
 */
static struct ieee80211_rate airsim_legacy_rates[AIRSIM_LEGACY_RATES] = {
	{ .bitrate = 10 }, { .bitrate = 20 }, { .bitrate = 55 },
	{ .bitrate = 110 },
	{ .bitrate = 60 }, { .bitrate = 90 }, { .bitrate = 120 },
	{ .bitrate = 180 }, { .bitrate = 240 }, { .bitrate = 360 },
	{ .bitrate = 480 }, { .bitrate = 540 },
};

/*
 * The medium is simulated, so both bands are allowed, without a regulatory
 * database from user space.
 */
static const struct ieee80211_regdomain airsim_regulatory = {
	.n_reg_rules = 2,
	.alpha2 = "99",
	.reg_rules = {
		REG_RULE(2400, 2484, 40, 0, 20, 0),
		REG_RULE(5150, 5850, 160, 0, 20, 0),
	},
};

static void airsim_describe_ht(const struct airsim_hardware *hardware,
			       struct ieee80211_sta_ht_cap *ht)
{
	int i;

	ht->ht_supported = true;
	ht->cap = IEEE80211_HT_CAP_SGI_20 |
		  (WLAN_HT_CAP_SM_PS_DISABLED << IEEE80211_HT_CAP_SM_PS_SHIFT);
	if (hardware->width_mhz > 20)
		ht->cap |= IEEE80211_HT_CAP_SUP_WIDTH_20_40 |
			   IEEE80211_HT_CAP_SGI_40;
	if (hardware->amsdu)
		ht->cap |= IEEE80211_HT_CAP_MAX_AMSDU;
	ht->ampdu_factor = IEEE80211_HT_MAX_AMPDU_64K;
	/* The density d stands for 2^(d - 3) us. */
	if (hardware->mpdu_spacing_ns)
		ht->ampdu_density = ilog2(hardware->mpdu_spacing_ns / 125);
	for (i = 0; i < hardware->streams; i++)
		ht->mcs.rx_mask[i] = 0xff;
	ht->mcs.tx_params = IEEE80211_HT_MCS_TX_DEFINED;
}

/*
 * Two bits per stream: @support for the radio's streams, 3 (not supported) for
 * the others.
 */
static __le16 airsim_mcs_map(u8 streams, u16 support)
{
	u16 map = 0;
	int i;

	for (i = 0; i < 8; i++)
		map |= (i < streams ? support : 3) << (2 * i);
	return cpu_to_le16(map);
}

static void airsim_describe_vht(const struct airsim_hardware *hardware,
				struct ieee80211_sta_vht_cap *vht)
{
	vht->vht_supported = true;
	vht->cap = IEEE80211_VHT_CAP_SHORT_GI_80 |
		   IEEE80211_VHT_CAP_MAX_A_MPDU_LENGTH_EXPONENT_MASK;
	if (hardware->width_mhz > 80)
		vht->cap |= IEEE80211_VHT_CAP_SUPP_CHAN_WIDTH_160MHZ |
			    IEEE80211_VHT_CAP_SHORT_GI_160;
	if (hardware->amsdu)
		vht->cap |= IEEE80211_VHT_CAP_MAX_MPDU_LENGTH_11454;
	vht->vht_mcs.rx_mcs_map = airsim_mcs_map(hardware->streams,
						 IEEE80211_VHT_MCS_SUPPORT_0_9);
	vht->vht_mcs.tx_mcs_map = vht->vht_mcs.rx_mcs_map;
}

static void airsim_describe_he(const struct airsim_hardware *hardware,
			       enum nl80211_band band,
			       struct ieee80211_sband_iftype_data *data)
{
	struct ieee80211_he_mcs_nss_supp *mcs = &data->he_cap.he_mcs_nss_supp;
	struct ieee80211_he_cap_elem *elem = &data->he_cap.he_cap_elem;
	__le16 map = airsim_mcs_map(hardware->streams,
				    IEEE80211_HE_MCS_SUPPORT_0_11);
	__le16 none = airsim_mcs_map(0, 0);
	u8 *width = &elem->phy_cap_info[0];

	data->types_mask = BIT(NL80211_IFTYPE_STATION) |
			   BIT(NL80211_IFTYPE_AP);
	data->he_cap.has_he = true;
	elem->mac_cap_info[0] = IEEE80211_HE_MAC_CAP0_HTC_HE;
	if (hardware->amsdu)
		elem->mac_cap_info[4] = IEEE80211_HE_MAC_CAP4_AMSDU_IN_AMPDU;
	elem->phy_cap_info[1] = IEEE80211_HE_PHY_CAP1_LDPC_CODING_IN_PAYLOAD;
	if (band == NL80211_BAND_2GHZ) {
		if (hardware->width_mhz > 20)
			*width = IEEE80211_HE_PHY_CAP0_CHANNEL_WIDTH_SET_40MHZ_IN_2G;
	} else {
		if (hardware->width_mhz > 20)
			*width = IEEE80211_HE_PHY_CAP0_CHANNEL_WIDTH_SET_40MHZ_80MHZ_IN_5G;
		if (hardware->width_mhz > 80)
			*width |= IEEE80211_HE_PHY_CAP0_CHANNEL_WIDTH_SET_160MHZ_IN_5G;
	}
	mcs->rx_mcs_80 = map;
	mcs->tx_mcs_80 = map;
	mcs->rx_mcs_160 = hardware->width_mhz > 80 ? map : none;
	mcs->tx_mcs_160 = mcs->rx_mcs_160;
	mcs->rx_mcs_80p80 = none;
	mcs->tx_mcs_80p80 = none;
}

static int airsim_describe_band(struct airsim_radio *radio,
				enum nl80211_band band,
				const struct ieee80211_channel *channels,
				unsigned int n_channels,
				unsigned int first_rate)
{
	const struct airsim_hardware *hardware = &radio->hardware;
	struct ieee80211_supported_band *sband = &radio->bands[band];
	struct ieee80211_sband_iftype_data *he;
	struct device *dev = &radio->device->dev;

	sband->band = band;
	sband->channels = devm_kmemdup(dev, channels,
				       n_channels * sizeof(*channels),
				       GFP_KERNEL);
	sband->n_channels = n_channels;
	sband->bitrates = devm_kmemdup(dev, airsim_legacy_rates,
				       sizeof(airsim_legacy_rates), GFP_KERNEL);
	if (!sband->channels || !sband->bitrates)
		return -ENOMEM;
	sband->bitrates += first_rate;
	sband->n_bitrates = AIRSIM_LEGACY_RATES - first_rate;
	if (hardware->standard >= AIRSIM_80211N)
		airsim_describe_ht(hardware, &sband->ht_cap);
	if (hardware->standard >= AIRSIM_80211AC && band == NL80211_BAND_5GHZ)
		airsim_describe_vht(hardware, &sband->vht_cap);
	if (hardware->standard == AIRSIM_80211AX) {
		he = devm_kzalloc(dev, sizeof(*he), GFP_KERNEL);
		if (!he)
			return -ENOMEM;
		airsim_describe_he(hardware, band, he);
		_ieee80211_set_sband_iftype_data(sband, he, 1);
	}
	radio->hw->wiphy->bands[band] = sband;
	return 0;
}

static void airsim_describe_hw(struct airsim_radio *radio)
{
	const struct airsim_hardware *hardware = &radio->hardware;
	struct ieee80211_hw *hw = radio->hw;

	ieee80211_hw_set(hw, SIGNAL_DBM);
	ieee80211_hw_set(hw, SUPPORT_FAST_XMIT);
	ieee80211_hw_set(hw, SUPPORTS_CLONED_SKBS);
	ieee80211_hw_set(hw, REPORTS_TX_ACK_STATUS);
	ieee80211_hw_set(hw, HOST_BROADCAST_PS_BUFFERING);
	ieee80211_hw_set(hw, MFP_CAPABLE);
	if (hardware->standard >= AIRSIM_80211N)
		ieee80211_hw_set(hw, AMPDU_AGGREGATION);
	if (radio->settings.rate_fixed)
		ieee80211_hw_set(hw, HAS_RATE_CONTROL);
	/* mac80211 sends the null data frames, and decides when to doze. */
	if (hardware->power_save) {
		ieee80211_hw_set(hw, SUPPORTS_PS);
		ieee80211_hw_set(hw, PS_NULLFUNC_STACK);
	}
	if (hardware->amsdu) {
		ieee80211_hw_set(hw, TX_AMSDU);
		ieee80211_hw_set(hw, TX_FRAG_LIST);
		ieee80211_hw_set(hw, SUPPORTS_AMSDU_IN_AMPDU);
	}
	hw->queues = IEEE80211_NUM_ACS;
	hw->max_rates = IEEE80211_TX_MAX_RATES;
	hw->max_rate_tries = 7;
	hw->max_rx_aggregation_subframes = hardware->ba_window;
	hw->max_tx_aggregation_subframes = hardware->ba_window;
	hw->txq_data_size = sizeof(struct airsim_txq);
	hw->sta_data_size = sizeof(struct airsim_sta);
	hw->wiphy->interface_modes = BIT(NL80211_IFTYPE_STATION) |
				     BIT(NL80211_IFTYPE_AP);
	hw->wiphy->available_antennas_tx = BIT(hardware->streams) - 1;
	hw->wiphy->available_antennas_rx = BIT(hardware->streams) - 1;
	hw->wiphy->flags &= ~WIPHY_FLAG_PS_ON_BY_DEFAULT;
	hw->wiphy->txq_limit = hardware->txq_limit;
	hw->wiphy->regulatory_flags |= REGULATORY_CUSTOM_REG;
	if (hardware->queueing == AIRSIM_QUEUE_TXQ) {
		wiphy_ext_feature_set(hw->wiphy, NL80211_EXT_FEATURE_AQL);
		wiphy_ext_feature_set(hw->wiphy,
				      NL80211_EXT_FEATURE_AIRTIME_FAIRNESS);
	}
}

/**
 * airsim_describe - set the capabilities of a radio before it is registered
 * @radio: the radio
 *
 * Return: 0, or -ENOMEM.
 */
int airsim_describe(struct airsim_radio *radio)
{
	int err = 0;

	airsim_describe_hw(radio);
	if (radio->hardware.standard != AIRSIM_80211A)
		err = airsim_describe_band(radio, NL80211_BAND_2GHZ,
					   airsim_channels_2ghz,
					   ARRAY_SIZE(airsim_channels_2ghz), 0);
	if (!err && radio->hardware.standard != AIRSIM_80211G)
		err = airsim_describe_band(radio, NL80211_BAND_5GHZ,
					   airsim_channels_5ghz,
					   ARRAY_SIZE(airsim_channels_5ghz),
					   AIRSIM_CCK_RATES);
	wiphy_apply_custom_regulatory(radio->hw->wiphy, &airsim_regulatory);
	return err;
}
