// SPDX-License-Identifier: GPL-2.0-only
/* Tells TCP acknowledgments from data, for the counters only. */
#include <linux/etherdevice.h>
#include <linux/ieee80211.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include "airsim.h"

static bool airsim_is_bare_ack(const struct tcphdr *tcp)
{
	return tcp->ack && !tcp->syn && !tcp->fin && !tcp->rst;
}

static bool airsim_ipv4_bare_ack(const u8 *data, unsigned int octets)
{
	const struct iphdr *ip = (const void *)data;
	const struct tcphdr *tcp;

	if (octets < sizeof(*ip) + sizeof(*tcp) ||
	    ip->protocol != IPPROTO_TCP ||
	    octets < ip->ihl * 4 + sizeof(*tcp))
		return false;
	tcp = (const void *)(data + ip->ihl * 4);
	return ntohs(ip->tot_len) == ip->ihl * 4 + tcp->doff * 4 &&
	       airsim_is_bare_ack(tcp);
}

static bool airsim_ipv6_bare_ack(const u8 *data, unsigned int octets)
{
	const struct ipv6hdr *ip = (const void *)data;
	const struct tcphdr *tcp = (const void *)(ip + 1);

	return octets >= sizeof(*ip) + sizeof(*tcp) &&
	       ip->nexthdr == IPPROTO_TCP &&
	       ntohs(ip->payload_len) == tcp->doff * 4 &&
	       airsim_is_bare_ack(tcp);
}

/**
 * airsim_classify - what an MPDU carries
 * @skb: the MPDU, from its 802.11 header on
 *
 * Encrypted frames, and headers outside the skb's linear part, count as data.
 */
enum airsim_kind airsim_classify(const struct sk_buff *skb)
{
	const struct ieee80211_hdr *hdr = (const void *)skb->data;
	unsigned int offset;
	const u8 *llc;
	__be16 type;

	if (!ieee80211_is_data_present(hdr->frame_control))
		return AIRSIM_KIND_OTHER;
	offset = ieee80211_hdrlen(hdr->frame_control);
	if (ieee80211_has_protected(hdr->frame_control) ||
	    skb_headlen(skb) < offset + 8)
		return AIRSIM_KIND_DATA;
	llc = skb->data + offset;
	memcpy(&type, llc + 6, sizeof(type));
	offset = skb_headlen(skb) - offset - 8;
	if ((type == htons(ETH_P_IP) &&
	     airsim_ipv4_bare_ack(llc + 8, offset)) ||
	    (type == htons(ETH_P_IPV6) &&
	     airsim_ipv6_bare_ack(llc + 8, offset)))
		return AIRSIM_KIND_TCP_ACK;
	return AIRSIM_KIND_DATA;
}
