/* SPDX-License-Identifier: GPL-2.0-only */
/* Multipath fading. Levels are in thousandths of a decibel. */
#ifndef AIRSIM_FADING_H
#define AIRSIM_FADING_H

#include <linux/types.h>

/**
 * struct airsim_fading - variation of signals by multipath
 * @doppler_millihz: maximum Doppler frequency; 0: no fading
 * @rician_k_milli: power of the line of sight in thousandths of that of all
 *	scattered paths; 0: Rayleigh fading
 */
struct airsim_fading {
	u32 doppler_millihz;
	u32 rician_k_milli;
};

s32 airsim_fading_mdb(const struct airsim_fading *fading, u32 link, u64 now_ns);

#endif
