/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TACK's estimators: from arrivals to the time between ACKs
 *
 * Pure functions, tested by KUnit.
 */
#ifndef _TCP_ACKPOL_TACK_H
#define _TCP_ACKPOL_TACK_H

#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>
#include <linux/win_minmax.h>

/* As in BBR, with which the paper combines TACK: the RTT of a path changes
 * rarely, its bandwidth often.
 */
#define TCP_TACK_RTT_WINDOW_US	(10 * USEC_PER_SEC)
#define TCP_TACK_RATE_WINDOW	10		/* round trip times */

/* Sysctls tcp_tack_*, per network namespace */
struct tcp_tack_params {
	int segments;	/* L: minimum full segments per ACK */
	int beta;	/* maximum ACKs per minimum RTT */
};

#define TCP_TACK_PARAMS_DEFAULT {	\
	.segments	= 2,		\
	.beta		= 4,		\
}

/* Estimates of a connection */
struct tcp_tack {
	struct minmax rtt_us;		/* minimum RTT, 0: unknown */
	struct minmax bytes_per_ms;	/* maximum delivery rate, 0: unknown */
	u64 start_us;			/* start of the measurement, 0: none */
	u32 start_seq;
};

static inline u32 tcp_tack_rtt_us(const struct tcp_tack *tack)
{
	return minmax_get(&tack->rtt_us);
}

/* Data up to @seq arrived in order at @now_us. @rtt_us: RTT, 0 if unknown.
 *
 * A measurement of the rate takes at least one round trip: a shorter one would
 * find the rate within an aggregate of frames, not that of the path.
 */
static inline void tcp_tack_arrival(struct tcp_tack *tack, u64 now_us, u32 seq,
				    u32 rtt_us)
{
	u32 min_rtt_us = tcp_tack_rtt_us(tack);
	u64 elapsed_us = now_us - tack->start_us;
	u32 t = now_us;
	u64 rate;

	if (tack->start_us && min_rtt_us) {
		if (elapsed_us < min_rtt_us)
			return;

		rate = div64_u64((u64)(seq - tack->start_seq) * USEC_PER_MSEC,
				 elapsed_us);
		minmax_running_max(&tack->bytes_per_ms,
				   min_t(u64, U32_MAX, TCP_TACK_RATE_WINDOW *
						       (u64)min_rtt_us),
				   t, min_t(u64, rate, U32_MAX));
	}

	if (rtt_us) {
		if (min_rtt_us)
			minmax_running_min(&tack->rtt_us,
					   TCP_TACK_RTT_WINDOW_US, t, rtt_us);
		else
			minmax_reset(&tack->rtt_us, t, rtt_us);
	}

	tack->start_us = now_us;
	tack->start_seq = seq;
}

/* Data is missing. When the hole is filled, data beyond it becomes in order all
 * at once, which does not measure the path.
 */
static inline void tcp_tack_hole(struct tcp_tack *tack)
{
	tack->start_us = 0;
}

/* At most beta ACKs per minimum RTT */
static inline u32 tcp_tack_period_us(const struct tcp_tack *tack,
				     const struct tcp_tack_params *params)
{
	return tcp_tack_rtt_us(tack) / (u32)READ_ONCE(params->beta);
}

/* Time between ACKs, max(L * MSS / bandwidth, minimum RTT / beta), or U32_MAX
 * if unknown.
 */
static inline u32 tcp_tack_interval_us(const struct tcp_tack *tack,
				       const struct tcp_tack_params *params,
				       u32 mss)
{
	u32 bytes_per_ms = minmax_get(&tack->bytes_per_ms);
	u64 interval_us;

	if (!bytes_per_ms)
		return U32_MAX;

	interval_us = div_u64((u64)READ_ONCE(params->segments) * mss *
			      USEC_PER_MSEC, bytes_per_ms);
	interval_us = max(interval_us, tcp_tack_period_us(tack, params));
	return min_t(u64, interval_us, U32_MAX);
}

#endif /* _TCP_ACKPOL_TACK_H */
