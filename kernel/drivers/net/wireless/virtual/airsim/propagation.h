/* SPDX-License-Identifier: GPL-2.0-only */
/* Path loss and noise. Levels are in thousandths of a decibel. */
#ifndef AIRSIM_PROPAGATION_H
#define AIRSIM_PROPAGATION_H

#include <linux/types.h>

/**
 * struct airsim_position - position and velocity of a radio
 * @x_mm: position at @since_ns
 * @y_mm: position at @since_ns
 * @vx_mm_per_s: velocity
 * @vy_mm_per_s: velocity
 * @since_ns: reference time
 */
struct airsim_position {
	s32 x_mm;
	s32 y_mm;
	s32 vx_mm_per_s;
	s32 vy_mm_per_s;
	u64 since_ns;
};

/**
 * struct airsim_propagation - log-distance path loss
 * @exponent_milli: thousandths of the path loss exponent
 * @reference_mdb: loss at one metre
 */
struct airsim_propagation {
	u32 exponent_milli;
	u32 reference_mdb;
};

s64 airsim_coordinate_mm(s32 start_mm, s32 mm_per_s, s64 elapsed_ns);
u32 airsim_distance_mm(const struct airsim_position *a,
		       const struct airsim_position *b, u64 now_ns);
s32 airsim_path_loss_mdb(const struct airsim_propagation *propagation,
			 u32 distance_mm);
s32 airsim_noise_mdbm(u16 width_mhz);

#endif
