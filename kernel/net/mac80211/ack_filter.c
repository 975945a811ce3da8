// SPDX-License-Identifier: GPL-2.0-only
/*
 * Filter of TCP ACKs in transmit queues
 *
 * On Wi-Fi the queue is here, below the qdiscs, so the ACK filter of sch_cake
 * finds nothing to drop. This is the same filter for the queues of mac80211:
 * packets in them have no sequence number yet, so any of them can go.
 */

#include <kunit/visibility.h>
#include <net/mac80211.h>
#include <net/tcp_ack_filter.h>
#include "ieee80211_i.h"

/*
 * How many packets of a flow are looked at for each packet that is queued, as
 * fq.lock is held meanwhile. Flows of ACKs stay short if they are filtered;
 * long flows are of data and seldom have ACKs to drop.
 */
#define ACK_FILTER_PACKETS	64

/* The longest ACK: 60 bytes of TCP header, as much of IPv4, or 6in4, and what
 * 802.11 and LLC have in front of them
 */
#define ACK_FILTER_BYTES	192

/**
 * ieee80211_ack_filter - find a redundant TCP ACK in a queue
 * @local: the radio, whose fq.lock is held
 * @queue: packets of one flow
 * @newer: the packet that is about to be queued behind them
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

		/* Data are most of what the walk meets: be quick about them. */
		if (!filter.candidate && older->len > ACK_FILTER_BYTES)
			continue;

		/* All of its packets would be dropped with it, and any of them
		 * may have other ECN flags than the ACK before it.
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
