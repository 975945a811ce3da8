// SPDX-License-Identifier: GPL-2.0-only
/*
 * Received signal strength: log-distance path loss between radios that move in
 * straight lines in a plane, and thermal noise of the receiver.
 */
#include <linux/int_log.h>
#include <linux/kernel.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include "propagation.h"

#define MM_PER_M	1000
#define LOG_BITS	24
/* -174 dBm/Hz at 290 K, a noise figure of 7 dB, 10 log10(1 MHz / 1 Hz). */
#define NOISE_MDBM_PER_MHZ	(-174000 + 7000 + 60000)

/**
 * airsim_coordinate_mm - position on an axis after some time
 * @start_mm: initial position
 * @mm_per_s: velocity
 * @elapsed_ns: time
 *
 * Return: millimetres; does not overflow for any @elapsed_ns.
 */
s64 airsim_coordinate_mm(s32 start_mm, s32 mm_per_s, s64 elapsed_ns)
{
	/* Seconds and the remainder separately, to avoid overflow. */
	s32 rest_ns;
	s64 seconds = div_s64_rem(elapsed_ns, NSEC_PER_SEC, &rest_ns);

	return start_mm + mm_per_s * seconds +
	       div_s64((s64)mm_per_s * rest_ns, NSEC_PER_SEC);
}

/**
 * airsim_distance_mm - distance between two radios
 * @a: position of one
 * @b: position of the other
 * @now_ns: current time
 *
 * Return: millimetres; at least one metre, the reference distance of the path
 * loss, and at most 2147 km on each axis.
 */
u32 airsim_distance_mm(const struct airsim_position *a,
		       const struct airsim_position *b, u64 now_ns)
{
	s64 a_ns = now_ns - a->since_ns;
	s64 b_ns = now_ns - b->since_ns;
	s64 x_mm = airsim_coordinate_mm(a->x_mm, a->vx_mm_per_s, a_ns) -
		   airsim_coordinate_mm(b->x_mm, b->vx_mm_per_s, b_ns);
	s64 y_mm = airsim_coordinate_mm(a->y_mm, a->vy_mm_per_s, a_ns) -
		   airsim_coordinate_mm(b->y_mm, b->vy_mm_per_s, b_ns);

	x_mm = clamp_t(s64, x_mm, -S32_MAX, S32_MAX);
	y_mm = clamp_t(s64, y_mm, -S32_MAX, S32_MAX);
	return max_t(u32, int_sqrt64(x_mm * x_mm + y_mm * y_mm), MM_PER_M);
}

/**
 * airsim_path_loss_mdb - path loss
 * @propagation: loss at one metre, and exponent
 * @distance_mm: distance, at least one metre
 */
s32 airsim_path_loss_mdb(const struct airsim_propagation *propagation,
			 u32 distance_mm)
{
	u64 log10_metres = intlog10(distance_mm) - intlog10(MM_PER_M);

	return propagation->reference_mdb +
	       (10 * propagation->exponent_milli * log10_metres >> LOG_BITS);
}

/**
 * airsim_noise_mdbm - thermal noise of a receiver
 * @width_mhz: its bandwidth
 */
s32 airsim_noise_mdbm(u16 width_mhz)
{
	return NOISE_MDBM_PER_MHZ + (10000ULL * intlog10(width_mhz) >> LOG_BITS);
}
