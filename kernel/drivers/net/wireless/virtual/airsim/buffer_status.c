// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a station would send next, in answer to a Trigger frame, and what it
 * reports of it to its access point.
 *
 * A report corresponds to Queue Size High of the BSR Control subfield (IEEE
 * 802.11ax-2021, 9.2.4.6.4.5): the queue of highest priority. Here it has no
 * granularity, and covers at most one A-MPDU, with its delimiters. The station
 * does not know the rate of that yet, so Minimum MPDU Start Spacing is not taken
 * into account.
 */
#include <linux/etherdevice.h>
#include <linux/ieee80211.h>
#include "airsim.h"

/* FCS, delimiter and padding of an MPDU. */
#define MPDU_OVERHEAD_OCTETS	(AIRSIM_FCS_OCTETS + AIRSIM_DELIMITER_OCTETS + 3)

/* In order of priority: voice to background. */
static const u8 airsim_tids[] = { 7, 6, 5, 4, 3, 0, 2, 1 };

static unsigned long airsim_txq_mpdus(struct ieee80211_txq *txq,
				      unsigned long *octets)
{
	const struct sk_buff_head *pending = &airsim_txq(txq)->pending;
	unsigned long mpdus, walked = 0;
	const struct sk_buff *skb;

	ieee80211_txq_get_depth(txq, &mpdus, octets);
	skb_queue_walk(pending, skb) {
		if (walked++ == AIRSIM_MAX_MPDUS)
			break;
		*octets += skb->len;
		mpdus++;
	}
	return mpdus;
}

/**
 * airsim_next_txq - the queue that a station would send from next
 * @radio: the station; the medium is locked
 *
 * Return: the queue of highest priority that is not empty, or NULL.
 */
struct ieee80211_txq *airsim_next_txq(struct airsim_radio *radio)
{
	unsigned long octets;
	int i;

	if (!radio->ap)
		return NULL;
	for (i = 0; i < ARRAY_SIZE(airsim_tids); i++) {
		struct ieee80211_txq *txq = radio->ap->txq[airsim_tids[i]];

		if (!airsim_txq(txq)->detached && airsim_txq_mpdus(txq, &octets))
			return txq;
	}
	return NULL;
}

/**
 * airsim_report_buffer - the buffer status report of a station
 * @radio: the station; the medium is locked
 */
struct airsim_buffer_report airsim_report_buffer(struct airsim_radio *radio)
{
	struct ieee80211_txq *txq = airsim_next_txq(radio);
	unsigned long mpdus, most, octets;
	u32 limit;

	if (!txq)
		return (struct airsim_buffer_report){};
	mpdus = airsim_txq_mpdus(txq, &octets);
	octets += mpdus * MPDU_OVERHEAD_OCTETS;
	most = clamp_t(unsigned long, airsim_txq(txq)->buf_size, 1,
		       radio->settings.ampdu_mpdus);
	if (mpdus > most)
		octets = DIV_ROUND_UP(octets * most, mpdus);
	limit = min(radio->settings.ampdu_octets,
		    airsim_receiver_octets(radio->ap, AIRSIM_HE));
	return (struct airsim_buffer_report){
		.octets = min_t(unsigned long, octets, limit),
		.mpdus = min(mpdus, most),
	};
}

/* The HT Control field of a report: the BSR Control subfield. */
static u32 airsim_bsr_control(struct airsim_radio *radio)
{
	static const u16 units[] = { 16, 256, 2048, 32768 };
	/* ACI of mac80211's access categories. */
	static const u8 acis[] = { 3, 2, 0, 1 };
	u32 octets = airsim_report_buffer(radio).octets;
	u32 unit = 0, aci, size;

	if (!octets)
		return 0x3 | 3 << 2 | 3 << 10;
	while (unit < 3 && octets > 254 * units[unit])
		unit++;
	aci = acis[airsim_next_txq(radio)->ac];
	size = min_t(u32, DIV_ROUND_UP(octets, units[unit]), 254);
	return 0x3 | 3 << 2 | BIT(aci) << 6 | aci << 12 | unit << 14 |
	       size << 16 | size << 24;
}

/**
 * airsim_null_make - a QoS Null with a buffer status report
 * @radio: the station; the medium is locked
 *
 * Return: the frame, or NULL.
 */
struct sk_buff *airsim_null_make(struct airsim_radio *radio)
{
	__le32 control = cpu_to_le32(airsim_bsr_control(radio));
	struct sk_buff *skb = dev_alloc_skb(AIRSIM_NULL_OCTETS);
	struct ieee80211_qos_hdr *hdr;

	if (!skb)
		return NULL;
	hdr = skb_put_zero(skb, sizeof(*hdr));
	hdr->frame_control = cpu_to_le16(IEEE80211_FTYPE_DATA |
					 IEEE80211_STYPE_QOS_NULLFUNC |
					 IEEE80211_FCTL_TODS |
					 IEEE80211_FCTL_ORDER);
	ether_addr_copy(hdr->addr1, radio->vif->bss_conf.bssid);
	ether_addr_copy(hdr->addr2, radio->vif->addr);
	ether_addr_copy(hdr->addr3, radio->vif->bss_conf.bssid);
	hdr->qos_ctrl = cpu_to_le16(IEEE80211_QOS_CTL_ACK_POLICY_NOACK);
	skb_put_data(skb, &control, sizeof(control));
	return skb;
}
