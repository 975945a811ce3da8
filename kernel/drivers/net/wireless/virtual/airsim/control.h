/* SPDX-License-Identifier: GPL-2.0-only */
/* What netlink.c asks of the radios: registry.c answers. */
#ifndef AIRSIM_CONTROL_H
#define AIRSIM_CONTROL_H

#include <linux/if_ether.h>
#include <linux/limits.h>
#include <linux/types.h>
#include "config.h"

#define AIRSIM_WIPHY_NAME_OCTETS	32
/* Loss of a link on which nothing is heard. */
#define AIRSIM_LINK_BLOCKED		S32_MAX

/**
 * struct airsim_radio_counters - what a radio has done, mostly as transmitter
 * @taken: MPDUs taken from mac80211 or made by the radio
 * @acked: MPDUs acknowledged
 * @unanswerable: MPDUs sent to which no answer was due
 * @dropped_retries: MPDUs given up after the last attempt
 * @dropped_stopped: MPDUs dropped as the radio was down
 * @dropped_queue_gone: MPDUs dropped as their queue went
 * @queued: MPDUs that the radio has now
 * @received: MPDUs that arrived here
 * @handed_up: MPDUs given to mac80211
 * @rx_no_memory: MPDUs that arrived and found no memory
 * @rx_dropped_stopped: MPDUs that arrived and went as the radio went down
 * @rx_waiting: MPDUs that are to be handed up
 * @ppdus: PPDUs sent
 * @collided: PPDUs and RTS that another one spoiled at their receiver
 * @retries: MPDUs sent again
 * @tx_airtime_ns: time on the air
 * @rts_sent: RTS sent
 * @bar_sent: BlockAckReqs sent
 * @acks_suppressed: TCP acknowledgments dropped for a newer one (ack_hold)
 * @acks_held: TCP acknowledgments that wait for one
 */
struct airsim_radio_counters {
	u64 taken;
	u64 acked;
	u64 unanswerable;
	u64 dropped_retries;
	u64 dropped_stopped;
	u64 dropped_queue_gone;
	u64 queued;
	u64 received;
	u64 handed_up;
	u64 rx_no_memory;
	u64 rx_dropped_stopped;
	u64 rx_waiting;
	u64 ppdus;
	u64 collided;
	u64 retries;
	u64 tx_airtime_ns;
	u64 rts_sent;
	u64 bar_sent;
	u64 acks_suppressed;
	u64 acks_held;
};

/**
 * struct airsim_radio_info - all that can be read of a radio
 * @index: its number
 * @wiphy: name of its wiphy
 * @address: its MAC address
 * @hardware: what it is
 * @settings: how it is set
 * @counters: what it has done
 */
struct airsim_radio_info {
	u32 index;
	char wiphy[AIRSIM_WIPHY_NAME_OCTETS];
	u8 address[ETH_ALEN];
	struct airsim_hardware hardware;
	struct airsim_settings settings;
	struct airsim_radio_counters counters;
};

/* registry.c; every error comes with a message where there is an extack. */
int airsim_radio_add(const struct airsim_hardware *hardware,
		     const struct airsim_settings *settings,
		     struct netlink_ext_ack *extack);
int airsim_radio_remove(u32 index, struct netlink_ext_ack *extack);
int airsim_radio_read(u32 index, struct airsim_radio_info *info);
int airsim_radio_set(u32 index, const struct airsim_settings *settings,
		     struct netlink_ext_ack *extack);
int airsim_link_set(u32 from, u32 to, bool given, s32 loss_mdb,
		    struct netlink_ext_ack *extack);
int airsim_link_read(u32 from, u32 to, s32 *loss_mdb);
void airsim_air_read(struct airsim_air *air);
void airsim_air_set(const struct airsim_air *air);

/* netlink.c */
int airsim_netlink_init(void);
void airsim_netlink_exit(void);

#endif
