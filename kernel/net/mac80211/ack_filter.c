// SPDX-License-Identifier: GPL-2.0-only
/*
 * Filter TCP ACKs in transmit queues
 *
 * On Wi-Fi packets queue here, below the qdiscs, so the ACK filter of sch_cake
 * has nothing to drop. This is the same filter for mac80211's queues: packets
 * in them do not have sequence numbers yet, so any of them can be dropped.
 */

#include <kunit/visibility.h>
#include <net/mac80211.h>
#include <net/tcp_ack_filter.h>
#include "ieee80211_i.h"

/*
 * Maximum number of packets examined for each queued packet, as fq.lock is
 * held. Flows of ACKs stay short if they are filtered; long flows consist of
 * data and rarely have ACKs to drop.
 */
#define ACK_FILTER_PACKETS	64

/* Maximum length of an ACK: 60 bytes of TCP header, the same for IPv4 or 6in4,
 * and the 802.11 and LLC headers
 */
#define ACK_FILTER_BYTES	192

/**
 * ieee80211_ack_filter - find a redundant TCP ACK in a queue
 * @local: the radio; its fq.lock is held
 * @queue: packets of one flow
 * @newer: the packet that is about to be queued
 *
 * Return: the ACK that can be dropped, or %NULL.
 */
struct sk_buff *ieee80211_ack_filter(struct ieee80211_local *local,
				     struct sk_buff_head *queue,
				     const struct sk_buff *newer)
{
	struct tcp_ack_filter filter;
	int left = ACK_FILTER_PACKETS;
	struct sk_buff *older;

	if (skb_queue_empty(queue) ||
	    (newer->protocol != htons(ETH_P_IP) &&
	     newer->protocol != htons(ETH_P_IPV6)) ||
	    !tcp_ack_filter_init(&filter, newer))
		return NULL;

	skb_queue_walk(queue, older) {
		if (!left--) {
			local->ack_filter_limited++;
			return NULL;
		}

		/* Most packets are data: skip them quickly. */
		if (!filter.candidate && older->len > ACK_FILTER_BYTES)
			continue;

		/* All of its packets would be dropped, and their ECN flags may
		 * differ.
		 */
		if (IEEE80211_SKB_CB(older)->control.flags &
		    IEEE80211_TX_CTRL_AMSDU) {
			filter.candidate = NULL;
			continue;
		}

		if (older->protocol != newer->protocol)
			continue;

		if (tcp_ack_filter_check(&filter, older))
			return filter.candidate;
	}

	if (local->ack_filter == IEEE80211_ACK_FILTER_AGGRESSIVE &&
	    tcp_ack_filter_check_last(&filter, skb_peek_tail(queue)))
		return filter.candidate;

	return NULL;
}
EXPORT_SYMBOL_IF_MAC80211_KUNIT(ieee80211_ack_filter);
