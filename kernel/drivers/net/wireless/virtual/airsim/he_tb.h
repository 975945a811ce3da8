/* SPDX-License-Identifier: GPL-2.0-only */
/* UL OFDMA: resource units, HE TB PPDUs, and the lengths of their frames. */
#ifndef AIRSIM_HE_TB_H
#define AIRSIM_HE_TB_H

#include <linux/types.h>
#include "airtime.h"

/* RUs of 26 tones at 160 MHz. */
#define AIRSIM_MAX_RUS		74
/* QoS Null with HT Control and FCS, in an A-MPDU. */
#define AIRSIM_NULL_OCTETS	(30 + AIRSIM_FCS_OCTETS)

unsigned int airsim_ru_count(u16 width_mhz, u16 tones);
u16 airsim_ru_tones(u16 width_mhz, unsigned int stations);
u16 airsim_ru_mhz(u16 tones);
u8 airsim_ru_allocation(u16 tones, unsigned int index);
u32 airsim_tb_ns(const struct airsim_rate *rate, u32 psdu_octets, u32 limit_ns);
u16 airsim_ul_length(const struct airsim_rate *rate, u32 ppdu_ns);
u32 airsim_trigger_octets(bool basic, unsigned int stations);
u32 airsim_multi_blockack_octets(unsigned int stations, u32 bitmap_octets);

#endif
