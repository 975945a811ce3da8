// SPDX-License-Identifier: GPL-2.0-only
/*
 * How strong a signal arrives: log-distance path loss between radios in a
 * plane that walk in straight lines, over the thermal noise of a receiver.
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
 * airsim_coordinate_mm - how far somebody has walked along an axis
 * @start_mm: where that began
 * @mm_per_s: velocity
 * @elapsed_ns: for how long
 *
 * Return: millimetres, of any length of time.
 */
s64 airsim_coordinate_mm(s32 start_mm, s32 mm_per_s, s64 elapsed_ns)
{
	/* Seconds and the rest apart, lest the product overflows. */
	s32 rest_ns;
	s64 seconds = div_s64_rem(elapsed_ns, NSEC_PER_SEC, &rest_ns);

	return start_mm + mm_per_s * seconds +
	       div_s64((s64)mm_per_s * rest_ns, NSEC_PER_SEC);
}

/**
 * airsim_distance_mm - how far apart two radios are
 * @a: one
 * @b: the other
 * @now_ns: when
 *
 * Return: millimetres. Less than a metre counts as one, to which path loss
 * refers; more than 2147 km along an axis counts as that.
 */
u32 airsim_distance_mm(const struct airsim_place *a,
		       const struct airsim_place *b, u64 now_ns)
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
 * airsim_path_loss_mdb - what a signal loses on its way
 * @propagation: loss at one metre, and how it grows
 * @distance_mm: the way, at least a metre
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
