/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Logarithmic and linear levels, in fixed point. Exponents of two have
 * AIRSIM_EXPONENT_BITS fractional bits. A power is a multiple of 1e-14 mW (-140
 * dBm), so that levels up to 40 dBm can be added.
 */
#ifndef AIRSIM_DECIBEL_H
#define AIRSIM_DECIBEL_H

#include <linux/bits.h>
#include <linux/types.h>

#define AIRSIM_EXPONENT_BITS	28
#define AIRSIM_EXPONENT_MASK	GENMASK_ULL(AIRSIM_EXPONENT_BITS - 1, 0)
#define AIRSIM_MANTISSA_BITS	31

u64 airsim_exp2_fraction(u64 fraction);
u64 airsim_power(s32 mdbm);
s32 airsim_power_mdbm(u64 power);

#endif
