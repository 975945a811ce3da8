// SPDX-License-Identifier: GPL-2.0-only
/* Conversion between mac80211's rates and struct airsim_rate. */
#include <linux/etherdevice.h>
#include <linux/ieee80211.h>
#include "airsim.h"

/* The first legacy rate of a band: CCK exists at 2.4 GHz only. */
static u8 airsim_first_rate(enum nl80211_band band)
{
	return band == NL80211_BAND_2GHZ ? 0 : AIRSIM_CCK_RATES;
}

/**
 * airsim_legacy_index - index of a legacy rate in its band
 * @band: the band
 * @kbps: one of airsim_legacy_kbps
 */
static u8 airsim_legacy_index(enum nl80211_band band, u16 kbps)
{
	u8 first = airsim_first_rate(band);
	u8 i;

	for (i = first; i < AIRSIM_LEGACY_RATES - 1; i++)
		if (airsim_legacy_kbps[i] == kbps)
			break;
	return i - first;
}

/**
 * airsim_basic_rates - basic rate set of a radio's BSS
 * @radio: the radio; the medium is locked
 *
 * Return: bitmap of indices of airsim_legacy_kbps.
 */
u16 airsim_basic_rates(struct airsim_radio *radio)
{
	u8 shift = airsim_first_rate(airsim_band(radio));

	return radio->vif ? radio->vif->bss_conf.basic_rates << shift : 0;
}

static void airsim_rate_read_legacy(struct airsim_radio *radio, s8 index,
				    struct airsim_rate *rate)
{
	u8 first = airsim_first_rate(airsim_band(radio));
	u8 i = first + clamp(index, 0, AIRSIM_LEGACY_RATES - 1 - first);

	*rate = (struct airsim_rate){
		.format = i < AIRSIM_CCK_RATES ? AIRSIM_CCK : AIRSIM_OFDM,
		.streams = 1,
		.width_mhz = 20,
		.legacy_kbps = airsim_legacy_kbps[i],
	};
}

static u16 airsim_rate_width_mhz(u16 flags)
{
	if (flags & IEEE80211_TX_RC_160_MHZ_WIDTH)
		return 160;
	if (flags & IEEE80211_TX_RC_80_MHZ_WIDTH)
		return 80;
	return flags & IEEE80211_TX_RC_40_MHZ_WIDTH ? 40 : 20;
}

static void airsim_rate_read_chosen(struct airsim_radio *radio,
				    const struct ieee80211_tx_rate *chosen,
				    struct airsim_rate *rate)
{
	if (!(chosen->flags & (IEEE80211_TX_RC_MCS |
			       IEEE80211_TX_RC_VHT_MCS)))
		return airsim_rate_read_legacy(radio, chosen->idx, rate);
	*rate = (struct airsim_rate){
		.width_mhz = airsim_rate_width_mhz(chosen->flags),
		.gi_ns = chosen->flags & IEEE80211_TX_RC_SHORT_GI ? 400 : 800,
	};
	if (chosen->flags & IEEE80211_TX_RC_VHT_MCS) {
		rate->format = AIRSIM_VHT;
		rate->mcs = ieee80211_rate_get_vht_mcs(chosen);
		rate->streams = ieee80211_rate_get_vht_nss(chosen);
	} else {
		rate->format = AIRSIM_HT;
		rate->mcs = chosen->idx % 8;
		rate->streams = chosen->idx / 8 + 1;
	}
}

/* In mac80211's format, which has none for HE and EHT. */
static void airsim_rate_write_chosen(const struct airsim_radio *radio,
				     const struct airsim_rate *rate,
				     struct ieee80211_tx_rate *chosen)
{
	*chosen = (struct ieee80211_tx_rate){ .count = 1 };
	if (rate->gi_ns == 400)
		chosen->flags |= IEEE80211_TX_RC_SHORT_GI;
	if (rate->width_mhz == 40)
		chosen->flags |= IEEE80211_TX_RC_40_MHZ_WIDTH;
	if (rate->width_mhz == 80)
		chosen->flags |= IEEE80211_TX_RC_80_MHZ_WIDTH;
	if (rate->width_mhz == 160)
		chosen->flags |= IEEE80211_TX_RC_160_MHZ_WIDTH;
	if (rate->format == AIRSIM_HT) {
		chosen->flags |= IEEE80211_TX_RC_MCS;
		chosen->idx = rate->mcs + 8 * (rate->streams - 1);
	} else if (rate->format == AIRSIM_VHT) {
		chosen->flags |= IEEE80211_TX_RC_VHT_MCS;
		ieee80211_rate_set_vht(chosen, rate->mcs, rate->streams);
	} else if (rate->format >= AIRSIM_HE) {
		chosen->idx = -1;
	} else {
		chosen->idx = airsim_legacy_index(airsim_band(radio),
						  rate->legacy_kbps);
	}
}

/* Whether a station supports the fixed rate in the radio's band. */
static bool airsim_sta_supports(const struct airsim_radio *radio,
				const struct ieee80211_sta *sta,
				const struct airsim_rate *rate)
{
	const struct ieee80211_link_sta *link = &sta->deflink;

	if (rate->streams > max_t(u8, link->rx_nss, 1) ||
	    rate->width_mhz > 20 << link->bandwidth)
		return false;
	switch (rate->format) {
	case AIRSIM_EHT:
		return link->eht_cap.has_eht;
	case AIRSIM_HE:
		return link->he_cap.has_he;
	case AIRSIM_VHT:
		return link->vht_cap.vht_supported;
	case AIRSIM_HT:
		return link->ht_cap.ht_supported;
	case AIRSIM_CCK:
		return airsim_band(radio) == NL80211_BAND_2GHZ;
	case AIRSIM_OFDM:
		break;
	}
	return true;
}

static const struct airsim_radio *airsim_radio_of(const struct ieee80211_sta *sta)
{
	const struct airsim_radio *radio;

	list_for_each_entry(radio, &airsim_medium.radios, list)
		if (radio->vif && ether_addr_equal(radio->vif->addr, sta->addr))
			return radio;
	return NULL;
}

/* The rate that was set for data to another radio, or that for all. */
static const struct airsim_rate *
airsim_fixed_rate(struct airsim_radio *radio, const struct airsim_radio *to)
{
	const struct airsim_link_rate *given;

	given = to ? xa_load(&radio->link_rates, to->index) : NULL;
	return given ? &given->rate : &radio->settings.rate;
}

/* The newest format that a station supports, up to @newest. */
static enum airsim_format airsim_sta_format(const struct ieee80211_sta *sta,
					    enum airsim_format newest)
{
	const struct ieee80211_link_sta *link = &sta->deflink;

	if (newest >= AIRSIM_EHT && link->eht_cap.has_eht)
		return AIRSIM_EHT;
	if (newest >= AIRSIM_HE && link->he_cap.has_he)
		return AIRSIM_HE;
	if (newest >= AIRSIM_VHT && link->vht_cap.vht_supported)
		return AIRSIM_VHT;
	if (newest >= AIRSIM_HT && link->ht_cap.ht_supported)
		return AIRSIM_HT;
	return AIRSIM_OFDM;
}

static s32 airsim_snr_at(const struct airsim_radio *to,
			 const struct airsim_radio *radio, u16 width_mhz)
{
	s32 signal_mdbm;

	if (!to || to->settings.errors != AIRSIM_ERRORS_SNR)
		return S32_MAX;
	if (!airsim_detects(to, radio, ktime_get_ns(), &signal_mdbm))
		signal_mdbm = airsim_medium.air.cca_threshold_mdbm;
	return signal_mdbm - airsim_noise_mdbm(width_mhz);
}

/* Of the rates up to the given one, the best at the SNR of the station. */
static void airsim_rate_adapt(const struct airsim_radio *radio,
			      const struct airsim_radio *to,
			      const struct ieee80211_sta *sta,
			      struct airsim_rate *rate)
{
	const struct ieee80211_link_sta *link = &sta->deflink;
	u8 streams = min(rate->streams, max_t(u8, link->rx_nss, 1));

	*rate = (struct airsim_rate){
		.format = airsim_sta_format(sta, rate->format),
		.streams = 1,
		.width_mhz = min_t(u16, rate->width_mhz, 20 << link->bandwidth),
		.gi_ns = rate->gi_ns,
	};
	if (rate->format == AIRSIM_OFDM)
		rate->width_mhz = 20;
	else if (rate->format < AIRSIM_HE)
		rate->gi_ns = min_t(u16, rate->gi_ns, 800);
	else
		rate->gi_ns = max_t(u16, rate->gi_ns, 800);
	airsim_best_rate(rate, streams,
			 airsim_snr_at(to, radio, rate->width_mhz));
}

/*
 * The fixed rate, or up to it the best one, for data; the lowest basic rate for
 * all other frames.
 */
static void airsim_rate_read_fixed(struct airsim_radio *radio,
				   const struct ieee80211_sta *sta,
				   struct airsim_rate *rate)
{
	bool ideal = sta && radio->settings.rate_ideal;
	u16 basic = airsim_basic_rates(radio);
	const struct airsim_radio *to = NULL;

	if (ideal || (sta && !xa_empty(&radio->link_rates)))
		to = airsim_radio_of(sta);
	*rate = *airsim_fixed_rate(radio, to);
	if (ideal)
		return airsim_rate_adapt(radio, to, sta, rate);
	if (sta && airsim_sta_supports(radio, sta, rate))
		return;
	basic >>= airsim_first_rate(airsim_band(radio));
	airsim_rate_read_legacy(radio, basic ? __ffs(basic) : 0, rate);
}

/* Entry of a rate series after a number of tries. */
static const struct ieee80211_tx_rate *
airsim_rate_at_try(const struct ieee80211_tx_rate *series, unsigned int tries)
{
	int i;

	for (i = 0; i < IEEE80211_TX_MAX_RATES - 1; i++) {
		if (series[i + 1].idx < 0 || tries < series[i].count)
			break;
		tries -= series[i].count;
	}
	return &series[i];
}

/* Whether there are, or might be, stations without HT in the BSS or nearby. */
static bool airsim_legacy_nearby(const struct ieee80211_vif *vif)
{
	switch (vif->bss_conf.ht_operation_mode &
		IEEE80211_HT_OP_MODE_PROTECTION) {
	case IEEE80211_HT_OP_MODE_PROTECTION_NONMEMBER:
	case IEEE80211_HT_OP_MODE_PROTECTION_NONHT_MIXED:
		return true;
	}
	return false;
}

/**
 * airsim_non_erp_nearby - whether there are stations without OFDM at 2.4 GHz
 * @radio: the radio; the medium is locked
 *
 * That is the Use_Protection field of the ERP element (9.4.2.11).
 */
bool airsim_non_erp_nearby(const struct airsim_radio *radio)
{
	return radio->vif && radio->vif->bss_conf.use_cts_prot;
}

/*
 * Whether stations nearby cannot decode a PPDU, nor its Duration field. Frames
 * of data and management are protected, control frames are not (10.27.2).
 */
static bool airsim_needs_protection(const struct airsim_radio *radio,
				    const struct sk_buff *skb,
				    const struct ieee80211_txq *txq,
				    const struct airsim_rate *rate)
{
	const struct ieee80211_hdr *hdr = (const void *)skb->data;

	if (ieee80211_is_ctl(hdr->frame_control))
		return false;
	return (txq && rate->format >= AIRSIM_HT &&
		airsim_legacy_nearby(txq->vif)) ||
	       (rate->format != AIRSIM_CCK && airsim_non_erp_nearby(radio));
}

/**
 * airsim_rate_read - rate of an MPDU's next transmission
 * @radio: transmitter; the medium is locked
 * @skb: the MPDU
 * @txq: its queue, or NULL
 * @tries: failed exchanges so far
 * @chosen: receives the rate in mac80211's format
 * @rate: receives the rate
 *
 * Return: the first frame of the exchange: RTS if mac80211 requires it, for
 * rates of last resort; RTS or CTS, according to the radio's setting, near
 * legacy stations (9.4.2.56, 10.27.2); else the PPDU.
 */
enum airsim_frame airsim_rate_read(struct airsim_radio *radio,
				   struct sk_buff *skb,
				   struct ieee80211_txq *txq,
				   unsigned int tries,
				   struct ieee80211_tx_rate *chosen,
				   struct airsim_rate *rate)
{
	struct ieee80211_tx_info *info = IEEE80211_SKB_CB(skb);
	struct ieee80211_tx_rate *series = info->control.rates;
	struct ieee80211_sta *sta = txq ? txq->sta : NULL;

	if (radio->settings.rate_fixed) {
		airsim_rate_read_fixed(radio, sta, rate);
		airsim_rate_write_chosen(radio, rate, chosen);
	} else {
		if (sta)
			ieee80211_get_tx_rates(txq->vif, sta, skb, series,
					       IEEE80211_TX_MAX_RATES);
		*chosen = *airsim_rate_at_try(series, tries);
		airsim_rate_read_chosen(radio, chosen, rate);
	}
	chosen->count = 1;
	rate->extension_ns = rate->format == AIRSIM_CCK ?
			     0 : radio->phy->extension_ns;
	if (chosen->flags & IEEE80211_TX_RC_USE_RTS_CTS)
		return AIRSIM_RTS;
	if (!airsim_needs_protection(radio, skb, txq, rate))
		return AIRSIM_PPDU;
	return radio->settings.protection == AIRSIM_PROTECTION_RTS_CTS ?
	       AIRSIM_RTS : AIRSIM_CTS;
}

static enum rate_info_bw airsim_width_info(u16 width_mhz)
{
	switch (width_mhz) {
	case 40:
		return RATE_INFO_BW_40;
	case 80:
		return RATE_INFO_BW_80;
	case 160:
		return RATE_INFO_BW_160;
	case 320:
		return RATE_INFO_BW_320;
	}
	return RATE_INFO_BW_20;
}

/* The values of HE, which EHT has as well. */
static u8 airsim_he_gi(u16 gi_ns)
{
	switch (gi_ns) {
	case 1600:
		return NL80211_RATE_INFO_HE_GI_1_6;
	case 3200:
		return NL80211_RATE_INFO_HE_GI_3_2;
	}
	return NL80211_RATE_INFO_HE_GI_0_8;
}

/**
 * airsim_rate_to_rx_status - set the rate of a received frame
 * @rate: the rate
 * @status: rx status, with its band set
 */
void airsim_rate_to_rx_status(const struct airsim_rate *rate,
			      struct ieee80211_rx_status *status)
{
	status->bw = airsim_width_info(rate->width_mhz);
	status->rate_idx = rate->mcs;
	status->nss = rate->streams;
	if (rate->gi_ns == 400)
		status->enc_flags |= RX_ENC_FLAG_SHORT_GI;
	switch (rate->format) {
	case AIRSIM_CCK:
	case AIRSIM_OFDM:
		status->rate_idx = airsim_legacy_index(status->band,
						       rate->legacy_kbps);
		break;
	case AIRSIM_HT:
		status->encoding = RX_ENC_HT;
		status->rate_idx = rate->mcs + 8 * (rate->streams - 1);
		break;
	case AIRSIM_VHT:
		status->encoding = RX_ENC_VHT;
		break;
	case AIRSIM_HE:
		status->encoding = RX_ENC_HE;
		status->he_gi = airsim_he_gi(rate->gi_ns);
		break;
	case AIRSIM_EHT:
		status->encoding = RX_ENC_EHT;
		status->eht.gi = airsim_he_gi(rate->gi_ns);
		break;
	}
}

/**
 * airsim_rate_to_info - convert an HE or EHT rate to cfg80211's format
 * @rate: the rate
 * @info: receives it
 */
void airsim_rate_to_info(const struct airsim_rate *rate,
			 struct rate_info *info)
{
	*info = (struct rate_info){
		.mcs = rate->mcs,
		.nss = rate->streams,
		.bw = airsim_width_info(rate->width_mhz),
	};
	if (rate->format == AIRSIM_EHT) {
		info->flags = RATE_INFO_FLAGS_EHT_MCS;
		info->eht_gi = airsim_he_gi(rate->gi_ns);
	} else {
		info->flags = RATE_INFO_FLAGS_HE_MCS;
		info->he_gi = airsim_he_gi(rate->gi_ns);
	}
}
