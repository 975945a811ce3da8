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
#define CHANNEL_6(mhz) CHANNEL(NL80211_BAND_6GHZ, mhz)

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

static const struct ieee80211_channel airsim_channels_6ghz[] = {
	CHANNEL_6(5955), CHANNEL_6(5975), CHANNEL_6(5995), CHANNEL_6(6015),
	CHANNEL_6(6035), CHANNEL_6(6055), CHANNEL_6(6075), CHANNEL_6(6095),
	CHANNEL_6(6115), CHANNEL_6(6135), CHANNEL_6(6155), CHANNEL_6(6175),
	CHANNEL_6(6195), CHANNEL_6(6215), CHANNEL_6(6235), CHANNEL_6(6255),
	CHANNEL_6(6275), CHANNEL_6(6295), CHANNEL_6(6315), CHANNEL_6(6335),
	CHANNEL_6(6355), CHANNEL_6(6375), CHANNEL_6(6395), CHANNEL_6(6415),
	CHANNEL_6(6435), CHANNEL_6(6455), CHANNEL_6(6475), CHANNEL_6(6495),
	CHANNEL_6(6515), CHANNEL_6(6535), CHANNEL_6(6555), CHANNEL_6(6575),
	CHANNEL_6(6595), CHANNEL_6(6615), CHANNEL_6(6635), CHANNEL_6(6655),
	CHANNEL_6(6675), CHANNEL_6(6695), CHANNEL_6(6715), CHANNEL_6(6735),
	CHANNEL_6(6755), CHANNEL_6(6775), CHANNEL_6(6795), CHANNEL_6(6815),
	CHANNEL_6(6835), CHANNEL_6(6855), CHANNEL_6(6875), CHANNEL_6(6895),
	CHANNEL_6(6915), CHANNEL_6(6935), CHANNEL_6(6955), CHANNEL_6(6975),
	CHANNEL_6(6995), CHANNEL_6(7015), CHANNEL_6(7035), CHANNEL_6(7055),
	CHANNEL_6(7075), CHANNEL_6(7095), CHANNEL_6(7115),
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
 * The medium is simulated, so all bands are allowed, without a regulatory
 * database from user space.
 */
static const struct ieee80211_regdomain airsim_regulatory = {
	.n_reg_rules = 3,
	.alpha2 = "99",
	.reg_rules = {
		REG_RULE(2400, 2484, 40, 0, 20, 0),
		REG_RULE(5150, 5850, 160, 0, 20, 0),
		REG_RULE(5945, 7125, 320, 0, 20, 0),
	},
};

/* Minimum MPDU Start Spacing: the density d stands for 2^(d - 3) us. */
static u8 airsim_density(const struct airsim_hardware *hardware)
{
	return hardware->mpdu_spacing_ns ?
	       ilog2(hardware->mpdu_spacing_ns / 125) : 0;
}

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
	ht->ampdu_density = airsim_density(hardware);
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

/* In place of the HT and VHT capabilities, which 6 GHz does not have. */
static void airsim_describe_6ghz(const struct airsim_hardware *hardware,
				 struct ieee80211_sband_iftype_data *data)
{
	__le16 *capa = &data->he_6ghz_capa.capa;

	le16p_replace_bits(capa, airsim_density(hardware),
			   IEEE80211_HE_6GHZ_CAP_MIN_MPDU_START);
	le16p_replace_bits(capa, IEEE80211_VHT_MAX_AMPDU_1024K,
			   IEEE80211_HE_6GHZ_CAP_MAX_AMPDU_LEN_EXP);
	if (hardware->amsdu)
		le16p_replace_bits(capa, IEEE80211_VHT_CAP_MAX_MPDU_LENGTH_11454,
				   IEEE80211_HE_6GHZ_CAP_MAX_MPDU_LEN);
	le16p_replace_bits(capa, WLAN_HT_CAP_SM_PS_DISABLED,
			   IEEE80211_HE_6GHZ_CAP_SM_PS);
	*capa |= cpu_to_le16(IEEE80211_HE_6GHZ_CAP_RX_ANTPAT_CONS |
			     IEEE80211_HE_6GHZ_CAP_TX_ANTPAT_CONS);
}

/*
 * The longest A-MPDUs: both extensions of VHT's exponent. A station of 20 MHz
 * only has an MCS map of its own format, whose entries are as these.
 */
static void airsim_describe_eht(const struct airsim_hardware *hardware,
				enum nl80211_band band,
				struct ieee80211_sband_iftype_data *data)
{
	struct ieee80211_eht_cap_elem_fixed *elem = &data->eht_cap.eht_cap_elem;
	struct ieee80211_eht_mcs_nss_supp *mcs =
		&data->eht_cap.eht_mcs_nss_supp;
	u8 streams = u8_encode_bits(hardware->streams,
				    IEEE80211_EHT_MCS_NSS_RX) |
		     u8_encode_bits(hardware->streams,
				    IEEE80211_EHT_MCS_NSS_TX);

	data->eht_cap.has_eht = true;
	data->he_cap.he_cap_elem.mac_cap_info[3] |=
		IEEE80211_HE_MAC_CAP3_MAX_AMPDU_LEN_EXP_EXT_3;
	elem->mac_cap_info[1] = IEEE80211_EHT_MAC_CAP1_MAX_AMPDU_LEN_MASK;
	memset(mcs, streams, sizeof(mcs->only_20mhz));
	if (hardware->width_mhz > 80)
		memset(&mcs->bw._160, streams, sizeof(mcs->bw._160));
	if (hardware->width_mhz > 160 && band == NL80211_BAND_6GHZ) {
		elem->phy_cap_info[0] = IEEE80211_EHT_PHY_CAP0_320MHZ_IN_6GHZ;
		memset(&mcs->bw._320, streams, sizeof(mcs->bw._320));
	}
}

/* cfg80211 requires separate data of stations and access points with EHT. */
static int airsim_describe_iftypes(struct airsim_radio *radio,
				   struct ieee80211_supported_band *sband)
{
	const struct airsim_hardware *hardware = &radio->hardware;
	bool eht = hardware->standard >= AIRSIM_80211BE;
	struct ieee80211_sband_iftype_data *data;
	int i, count = eht ? 2 : 1;

	data = devm_kcalloc(&radio->device->dev, count, sizeof(*data),
			    GFP_KERNEL);
	if (!data)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		airsim_describe_he(hardware, sband->band, &data[i]);
		if (sband->band == NL80211_BAND_6GHZ)
			airsim_describe_6ghz(hardware, &data[i]);
		if (eht)
			airsim_describe_eht(hardware, sband->band, &data[i]);
	}
	data[0].types_mask = BIT(NL80211_IFTYPE_STATION);
	data[count - 1].types_mask |= BIT(NL80211_IFTYPE_AP);
	_ieee80211_set_sband_iftype_data(sband, data, count);
	return 0;
}

static int airsim_describe_band(struct airsim_radio *radio,
				enum nl80211_band band,
				const struct ieee80211_channel *channels,
				unsigned int n_channels,
				unsigned int first_rate)
{
	const struct airsim_hardware *hardware = &radio->hardware;
	struct ieee80211_supported_band *sband = &radio->bands[band];
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
	if (hardware->standard >= AIRSIM_80211N && band != NL80211_BAND_6GHZ)
		airsim_describe_ht(hardware, &sband->ht_cap);
	if (hardware->standard >= AIRSIM_80211AC && band == NL80211_BAND_5GHZ)
		airsim_describe_vht(hardware, &sband->vht_cap);
	radio->hw->wiphy->bands[band] = sband;
	return hardware->standard >= AIRSIM_80211AX ?
	       airsim_describe_iftypes(radio, sband) : 0;
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
	/* mac80211 does not ask for 1024: ieee80211_send_addba_request(). */
	hw->max_tx_aggregation_subframes = min(hardware->ba_window, 1023);
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
	if (!err && radio->hardware.standard >= AIRSIM_80211BE)
		err = airsim_describe_band(radio, NL80211_BAND_6GHZ,
					   airsim_channels_6ghz,
					   ARRAY_SIZE(airsim_channels_6ghz),
					   AIRSIM_CCK_RATES);
	wiphy_apply_custom_regulatory(radio->hw->wiphy, &airsim_regulatory);
	return err;
}
