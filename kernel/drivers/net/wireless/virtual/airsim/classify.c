// SPDX-License-Identifier: GPL-2.0-only
/* Tells TCP ACKs from data, for the counters. */
#include <linux/ieee80211.h>
#include <linux/if_ether.h>
#include <linux/tcp.h>
#include <net/tcp_ack_filter.h>
#include "airsim.h"

static bool airsim_is_amsdu(struct ieee80211_hdr *hdr)
{
	return ieee80211_is_data_qos(hdr->frame_control) &&
	       *ieee80211_get_qos_ctl(hdr) & IEEE80211_QOS_CTL_A_MSDU_PRESENT;
}

/* The network header is set, behind the 802.11 and LLC headers. */
static bool airsim_is_bare_ack(const struct sk_buff *skb)
{
	struct tcp_ack_filter ack;

	return (skb->protocol == htons(ETH_P_IP) ||
		skb->protocol == htons(ETH_P_IPV6)) &&
	       tcp_ack_filter_init(&ack, skb) &&
	       ack.newer.len == __tcp_hdrlen(ack.newer.tcph) &&
	       !ack.newer.tcph->fin && !ack.newer.tcph->rst;
}

/**
 * airsim_classify - kind of an MPDU
 * @skb: the MPDU, starting at its 802.11 header
 *
 * Frames that mac80211 has encrypted and A-MSDUs count as data.
 */
enum airsim_kind airsim_classify(const struct sk_buff *skb)
{
	struct ieee80211_hdr *hdr = (void *)skb->data;

	if (!ieee80211_is_data_present(hdr->frame_control))
		return AIRSIM_KIND_OTHER;
	if ((ieee80211_has_protected(hdr->frame_control) &&
	     !airsim_crypto_octets(skb)) ||
	    airsim_is_amsdu(hdr) || !airsim_is_bare_ack(skb))
		return AIRSIM_KIND_DATA;
	return AIRSIM_KIND_TCP_ACK;
}
