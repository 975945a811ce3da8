// SPDX-License-Identifier: GPL-2.0-only
/* Powers of two, and sums of signal levels, in fixed point. */
#include <linux/bitops.h>
#include <linux/int_log.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include "decibel.h"

#define LN2_BITS	32
#define LN2		2977044471ULL

#define FLOOR_MDBM	(-140000)
#define CEILING_MDBM	40000
/* log2(10) / 10000: the exponent of two of a thousandth of a decibel. */
#define LOG2_PER_MDB_BITS	42
#define LOG2_PER_MDB	1460999427ULL
#define LOG10_BITS	24

/**
 * airsim_exp2_fraction - 2 to the power of a fraction
 * @fraction: below 1
 *
 * The series of exp(), up to the last significant term.
 *
 * Return: a mantissa from 1 to less than 2, with AIRSIM_MANTISSA_BITS.
 */
u64 airsim_exp2_fraction(u64 fraction)
{
	u64 x = fraction * LN2 >>
		(AIRSIM_EXPONENT_BITS + LN2_BITS - AIRSIM_MANTISSA_BITS);
	u64 sum = BIT_ULL(AIRSIM_MANTISSA_BITS);
	unsigned int n;

	for (n = 11; n; n--)
		sum = BIT_ULL(AIRSIM_MANTISSA_BITS) +
		      div_u64(x * sum >> AIRSIM_MANTISSA_BITS, n);
	return sum;
}

/**
 * airsim_power - linear power of a level
 * @mdbm: level; those beyond -140 and 40 dBm count as these
 *
 * Return: multiples of -140 dBm.
 */
u64 airsim_power(s32 mdbm)
{
	u32 mdb = clamp(mdbm, FLOOR_MDBM, CEILING_MDBM) - FLOOR_MDBM;
	u64 exponent = mdb * LOG2_PER_MDB >>
		       (LOG2_PER_MDB_BITS - AIRSIM_EXPONENT_BITS);
	u64 mantissa = airsim_exp2_fraction(exponent & AIRSIM_EXPONENT_MASK);
	u32 whole = exponent >> AIRSIM_EXPONENT_BITS;

	/* At most 59: 180 dB. */
	if (whole < AIRSIM_MANTISSA_BITS)
		return mantissa >> (AIRSIM_MANTISSA_BITS - whole);
	return mantissa << (whole - AIRSIM_MANTISSA_BITS);
}

/**
 * airsim_power_mdbm - level of a linear power
 * @power: multiples of -140 dBm, at least 1
 */
s32 airsim_power_mdbm(u64 power)
{
	u32 shift = max(fls64(power) - 32, 0);
	s32 mdb = 10000ULL * intlog10(power >> shift) >> LOG10_BITS;

	/* 10 log10(2) = 3.0103 */
	return FLOOR_MDBM + mdb + shift * 30103 / 10;
}
