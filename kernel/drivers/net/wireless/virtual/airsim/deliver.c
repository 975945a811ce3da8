// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hands received MPDUs up, each when its last symbol has arrived, through NAPI
 * so that GRO works as with other drivers. Between two MPDUs of an A-MPDU the
 * poll ends; GRO would never see two segments together, as a driver with
 * interrupt moderation lets it. gro_flush_us stands for that moderation: GRO
 * may hold a segment for so long. With GRO off nothing is held.
 */
#include <linux/etherdevice.h>
#include <linux/ieee80211.h>
#include "airsim.h"

/**
 * airsim_radio_hears - whether a radio is the receiver of an address
 * @radio: the radio
 * @address: first address of an MPDU
 */
bool airsim_radio_hears(const struct airsim_radio *radio, const u8 *address)
{
	int i;

	for (i = 0; i < AIRSIM_MAX_VIFS; i++)
		if (radio->vifs[i] &&
		    ether_addr_equal(radio->vifs[i]->addr, address))
			return true;
	return false;
}

static void fill_status(struct ieee80211_rx_status *status,
			const struct airsim_medium *medium,
			const struct airsim_ppdu *ppdu, unsigned int index,
			u64 end_ns)
{
	const struct airsim_rate *rate = &ppdu->rate;

	memset(status, 0, sizeof(*status));
	status->mactime = div_u64(end_ns, NSEC_PER_USEC);
	status->flag = RX_FLAG_MACTIME_END;
	status->freq = medium->frequency_mhz;
	status->band = NL80211_BAND_5GHZ;
	status->signal = AIRSIM_SIGNAL_DBM;
	if (rate->format == AIRSIM_HT) {
		status->encoding = RX_ENC_HT;
		status->rate_idx = rate->mcs;
		status->bw = rate->ht40 ? RATE_INFO_BW_40 : RATE_INFO_BW_20;
		if (rate->short_gi)
			status->enc_flags |= RX_ENC_FLAG_SHORT_GI;
	} else {
		status->rate_idx = airsim_legacy_index(rate->legacy_kbps);
	}
	if (ppdu->count > 1) {
		status->flag |= RX_FLAG_AMPDU_DETAILS |
				RX_FLAG_AMPDU_LAST_KNOWN;
		status->ampdu_reference = ppdu->reference;
		if (index + 1 == ppdu->count)
			status->flag |= RX_FLAG_AMPDU_IS_LAST;
	}
}

static void receive(struct airsim_radio *radio, const struct sk_buff *sent,
		    const struct airsim_ppdu *ppdu, unsigned int index,
		    u64 end_ns)
{
	struct sk_buff *skb = netdev_alloc_skb(radio->napi_dev, sent->len);

	if (!skb)
		return;
	skb_copy_bits(sent, 0, skb_put(skb, sent->len), sent->len);
	fill_status(IEEE80211_SKB_RXCB(skb), radio->medium, ppdu, index,
		    end_ns);
	skb_queue_tail(&radio->received, skb);
	napi_schedule(&radio->napi);
}

/**
 * airsim_deliver - give an MPDU that has arrived to those it is for
 * @from: its sender, whose medium is locked
 * @ppdu: the PPDU
 * @index: which of its MPDUs
 * @end_ns: when it had wholly arrived
 */
void airsim_deliver(const struct airsim_radio *from,
		    const struct airsim_ppdu *ppdu, unsigned int index,
		    u64 end_ns)
{
	const struct sk_buff *skb = ppdu->mpdu[index];
	const struct ieee80211_hdr *hdr = (const void *)skb->data;
	struct airsim_radio *radio;

	list_for_each_entry(radio, &from->medium->radios, list)
		if (radio != from &&
		    (is_multicast_ether_addr(hdr->addr1) ||
		     airsim_radio_hears(radio, hdr->addr1)))
			receive(radio, skb, ppdu, index, end_ns);
}

/**
 * airsim_poll - NAPI poll
 * @napi: a radio's
 * @budget: MPDUs to hand up at most
 *
 * Return: MPDUs handed up.
 */
int airsim_poll(struct napi_struct *napi, int budget)
{
	struct airsim_radio *radio =
		container_of(napi, struct airsim_radio, napi);
	struct sk_buff *skb;
	int done = 0;

	while (done < budget && (skb = skb_dequeue(&radio->received))) {
		ieee80211_rx_napi(radio->hw, NULL, skb, napi);
		done++;
	}
	if (done < budget) {
		napi->dev->gro_flush_timeout =
			airsim_settings.gro_flush_us * NSEC_PER_USEC;
		napi_complete_done(napi, done);
	}
	return done;
}
