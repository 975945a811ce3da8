// SPDX-License-Identifier: GPL-2.0-only
/*
 * Flat Rayleigh and Rician fading as a sum of sinusoids: the simulators of
 * Xiao, Zheng and Beaulieu, "Novel Sum-of-Sinusoids Simulation Models for
 * Rayleigh and Rician Fading Channels", IEEE Trans. Wireless Commun. 5(12),
 * 2006. A link has PATHS scattered paths of equal power,
 *
 *	exp(j (2 pi f t cos((2 pi n + theta_n) / PATHS) + phi_n))
 *
 * with the maximum Doppler frequency f and uniform theta_n and phi_n, and a
 * line of sight with K times the power of all of them. The angles follow from a
 * hash of the link, so that there is no state.
 *
 * An angle is a multiple of 2^-64 turns, so that phases wrap by themselves.
 */
#include <linux/bits.h>
#include <linux/fixp-arith.h>
#include <linux/jhash.h>
#include <linux/kernel.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include "decibel.h"
#include "fading.h"

#define PATHS_SHIFT	4
#define PATHS		BIT(PATHS_SHIFT)
#define QUARTER_TURN	BIT_ULL(62)
/* 2^64 / 10^12: turns per nanosecond of a thousandth of a hertz. */
#define PER_MILLIHZ	18446744ULL
/* Units in which the sine is interpolated: 512 per degree. */
#define SINE_TURN	(360 * 512)
#define SINE_BITS	31
#define AMPLITUDE_BITS	20
#define ROOT_BITS	10

/* The line of sight follows the scattered paths. */
#define LINE_OF_SIGHT	PATHS

struct airsim_phasor {
	s64 re;
	s64 im;
};

/* Uniform; there are two for each path. */
static u64 airsim_random_angle(u32 link, u32 path, u32 which)
{
	return (u64)jhash_3words(link, path, which, 0) << 32;
}

static s32 airsim_sine(u64 angle)
{
	u32 part = mul_u32_u32(angle >> 32, SINE_TURN) >> 32;

	return fixp_sin32_rad(part, SINE_TURN);
}

/* The phasor of a path that arrives at an angle to the motion. */
static struct airsim_phasor airsim_path(u64 doppler, u64 angle, u64 phase,
					u64 now_ns)
{
	s32 cosine = airsim_sine(angle + QUARTER_TURN);
	u64 shift = mul_u64_u32_shr(doppler, abs(cosine), SINE_BITS);

	phase += (cosine < 0 ? -shift : shift) * now_ns;
	return (struct airsim_phasor){
		airsim_sine(phase + QUARTER_TURN) >> (SINE_BITS - AMPLITUDE_BITS),
		airsim_sine(phase) >> (SINE_BITS - AMPLITUDE_BITS),
	};
}

/**
 * airsim_fading_mdb - gain of a link by fading
 * @fading: Doppler frequency, and Rician K factor of at most 20 dB
 * @link: random number of the link
 * @now_ns: current time
 *
 * Return: level relative to the mean power over time; 0 without fading.
 */
s32 airsim_fading_mdb(const struct airsim_fading *fading, u32 link, u64 now_ns)
{
	u64 doppler = fading->doppler_millihz * PER_MILLIHZ;
	u32 k_milli = fading->rician_k_milli;
	struct airsim_phasor path, sum = {};
	u64 root, mean, power;
	u32 n;

	if (!doppler)
		return 0;
	for (n = 0; n < PATHS; n++) {
		u64 theta = airsim_random_angle(link, n, 0);

		path = airsim_path(doppler,
				   (u64)n << (64 - PATHS_SHIFT) | theta >> PATHS_SHIFT,
				   airsim_random_angle(link, n, 1), now_ns);
		sum.re += path.re;
		sum.im += path.im;
	}
	if (k_milli) {
		path = airsim_path(doppler,
				   airsim_random_angle(link, LINE_OF_SIGHT, 0),
				   airsim_random_angle(link, LINE_OF_SIGHT, 1),
				   now_ns);
		root = int_sqrt64(((u64)PATHS * k_milli << 2 * ROOT_BITS) / 1000);
		sum.re += path.re * (s64)root >> ROOT_BITS;
		sum.im += path.im * (s64)root >> ROOT_BITS;
	}
	power = sum.re * sum.re + sum.im * sum.im;
	mean = div_u64((u64)PATHS * (1000 + k_milli) << 2 * AMPLITUDE_BITS, 1000);
	return airsim_power_mdbm(max(power, 1ULL)) - airsim_power_mdbm(mean);
}
