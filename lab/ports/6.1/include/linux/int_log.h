/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_INT_LOG_H
#define _LINUX_INT_LOG_H

#include <linux/bitops.h>
#include <linux/types.h>

/* log2(value) and log10(value) times 2^24, as Linux has them since 6.5 */

static inline u32 intlog2(u32 value)
{
	u32 log = __fls(value), bit;
	u64 rest;

	/* 1 <= rest / 2^31 < 2: each squaring gives another bit of its log. */
	rest = (u64)value << (31 - log);
	log <<= 24;
	for (bit = 1 << 23; bit; bit >>= 1) {
		rest = rest * rest >> 31;
		if (rest >> 32) {
			rest >>= 1;
			log |= bit;
		}
	}
	return log;
}

static inline u32 intlog10(u32 value)
{
	/* log10(2) times 2^31 */
	return (u64)intlog2(value) * 646456993 >> 31;
}

#endif
