// SPDX-License-Identifier: GPL-2.0-only
/* Airtime by receiver, which a receiver that associates again keeps. */
#include <linux/etherdevice.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include "airsim.h"

static struct airsim_peer *airsim_peer_find(const struct airsim_radio *radio,
					    const u8 *address)
{
	struct airsim_peer *peer;

	list_for_each_entry(peer, &radio->peers, list)
		if (ether_addr_equal(peer->address, address))
			return peer;
	return NULL;
}

/**
 * airsim_peer_add - mac80211 has added a station
 * @radio: the radio
 * @address: address of the station
 *
 * Return: its counters, which last as long as the radio; NULL: out of memory.
 */
struct airsim_peer *airsim_peer_add(struct airsim_radio *radio,
				    const u8 *address)
{
	struct airsim_peer *peer, *added = kzalloc(sizeof(*added), GFP_KERNEL);

	if (!added)
		return NULL;
	spin_lock_bh(&airsim_medium.lock);
	peer = airsim_peer_find(radio, address);
	if (!peer) {
		peer = added;
		added = NULL;
		ether_addr_copy(peer->address, address);
		list_add_tail(&peer->list, &radio->peers);
	}
	peer->present = true;
	spin_unlock_bh(&airsim_medium.lock);
	kfree(added);
	return peer;
}

/**
 * airsim_peer_left - mac80211 removes a station
 * @sta: its driver state
 */
void airsim_peer_left(struct airsim_sta *sta)
{
	spin_lock_bh(&airsim_medium.lock);
	sta->peer->present = false;
	spin_unlock_bh(&airsim_medium.lock);
}

/**
 * airsim_peers_show - print a line for each receiver
 * @radio: the radio
 * @file: receives the lines
 */
void airsim_peers_show(struct airsim_radio *radio, struct seq_file *file)
{
	const struct airsim_peer *peer;

	spin_lock_bh(&airsim_medium.lock);
	list_for_each_entry(peer, &radio->peers, list)
		seq_printf(file, "%u %pM %s %llu\n", radio->index,
			   peer->address, peer->present ? "present" : "left",
			   peer->tx_airtime_ns);
	spin_unlock_bh(&airsim_medium.lock);
}

/**
 * airsim_peers_free - free the counters of all receivers
 * @radio: the radio, which mac80211 no longer uses
 */
void airsim_peers_free(struct airsim_radio *radio)
{
	struct airsim_peer *peer, *next;

	list_for_each_entry_safe(peer, next, &radio->peers, list)
		kfree(peer);
}
