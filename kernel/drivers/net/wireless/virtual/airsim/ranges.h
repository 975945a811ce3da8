/* SPDX-License-Identifier: GPL-2.0-only */
/* What settings may be: config.c checks it, netlink.c's policy tells it. */
#ifndef AIRSIM_RANGES_H
#define AIRSIM_RANGES_H

#include <net/netlink.h>

extern const struct netlink_range_validation airsim_ampdu_mpdus_range;
extern const struct netlink_range_validation airsim_ampdu_octets_range;
extern const struct netlink_range_validation airsim_ampdu_duration_us_range;
extern const struct netlink_range_validation airsim_formed_ppdus_range;
extern const struct netlink_range_validation airsim_fifo_mpdus_range;
extern const struct netlink_range_validation airsim_ack_hold_range;
extern const struct netlink_range_validation airsim_wait_us_range;
extern const struct netlink_range_validation airsim_ppm_range;
extern const struct netlink_range_validation_signed airsim_tx_power_mdbm_range;
extern const struct netlink_range_validation_signed airsim_place_mm_range;
extern const struct netlink_range_validation_signed airsim_mm_per_s_range;

#endif
