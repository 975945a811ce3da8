/* SPDX-License-Identifier: GPL-2.0-only */
/* Interface between netlink.c and registry.c. */
#ifndef AIRSIM_CONTROL_H
#define AIRSIM_CONTROL_H

#include <linux/if_ether.h>
#include <linux/limits.h>
#include <linux/types.h>
#include "config.h"

#define AIRSIM_WIPHY_NAME_OCTETS	32
/* Loss of a blocked link. */
#define AIRSIM_LINK_BLOCKED		S32_MAX

#define AIRSIM_COUNTER_MEMBER(_name, _member)	u64 _member;

/* The members are documented in enum airsim_counter. */
struct airsim_radio_counters {
	AIRSIM_COUNTERS(AIRSIM_COUNTER_MEMBER)
};

/**
 * struct airsim_radio_info - state of a radio
 * @index: number of the radio
 * @wiphy: name of its wiphy
 * @address: MAC address
 * @hardware: capabilities
 * @settings: settings
 * @counters: counters
 */
struct airsim_radio_info {
	u32 index;
	char wiphy[AIRSIM_WIPHY_NAME_OCTETS];
	u8 address[ETH_ALEN];
	struct airsim_hardware hardware;
	struct airsim_settings settings;
	struct airsim_radio_counters counters;
};

/**
 * struct airsim_link_info - what was set for one direction between two radios
 * @has_loss: the loss was set
 * @has_rate: the rate was set
 * @loss_mdb: loss, or AIRSIM_LINK_BLOCKED
 * @rate: rate of data
 */
struct airsim_link_info {
	bool has_loss;
	bool has_rate;
	s32 loss_mdb;
	struct airsim_rate rate;
};

/* registry.c; errors set a message in the extack. */
int airsim_radio_add(const struct airsim_hardware *hardware,
		     const struct airsim_settings *settings,
		     struct netlink_ext_ack *extack);
int airsim_radio_remove(u32 index, struct netlink_ext_ack *extack);
int airsim_radio_read(u32 index, struct airsim_radio_info *info);
int airsim_radio_set(u32 index, const struct airsim_settings *settings,
		     struct netlink_ext_ack *extack);
int airsim_link_set(u32 from, u32 to, bool given, s32 loss_mdb,
		    struct netlink_ext_ack *extack);
int airsim_link_set_rate(u32 from, u32 to, const struct airsim_rate *rate,
			 struct netlink_ext_ack *extack);
int airsim_link_read(u32 from, u32 to, struct airsim_link_info *info);
void airsim_air_read(struct airsim_air *air);
void airsim_air_set(const struct airsim_air *air);

/* netlink.c */
int airsim_netlink_init(void);
void airsim_netlink_exit(void);

#endif
