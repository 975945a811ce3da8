/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Dynamic ACK limiting: from arrivals to the number of unacknowledged segments
 *
 * Pure functions, tested by KUnit.
 */
#ifndef _TCP_ACKPOL_LIMIT_H
#define _TCP_ACKPOL_LIMIT_H

#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

/* Sysctls tcp_ack_limit*, per network namespace */
struct tcp_limit_params {
	int limit;	/* segments before limiting; 0 or 1: equation 2.5 */
	int limit_max;	/* maximum of the ratio */
};

#define TCP_LIMIT_PARAMS_DEFAULT {	\
	.limit		= 0,		\
	.limit_max	= 64,		\
}

/* State of a connection */
struct tcp_limit {
	u64 window_start_us;	/* start of the current window */
	u32 window_us;		/* duration of the last one, 0: none */
	u32 window_segs;	/* segments per window, 0: limiting is off */
	u32 start_segs;		/* segments before limiting starts */
	u32 count_segs;		/* of these, or of the current window */
	u32 seen_segs;		/* counted segments not yet acknowledged */
	u32 ratio;		/* full segments that may be unacknowledged */
	u32 ratio_max;
};

/* Equation 2.5: the number of segments after which a sender that starts in
 * congestion avoidance with a window of one segment has opened it to
 * @rwnd_segs.
 */
static inline u32 tcp_limit_start_segs(u32 rwnd_segs)
{
	u64 w = rwnd_segs;

	/* RFC 7323 limits the window to 2^30 bytes, so the product fits. The
	 * bound leaves room to count one more arrival.
	 */
	return min_t(u64, (w + 2) * (w + 1) / 2 - 1, S32_MAX);
}

/* Restart: data is missing, or the connection starts */
static inline void tcp_limit_reset(struct tcp_limit *limit)
{
	limit->window_us = 0;
	limit->window_segs = 0;
	limit->count_segs = 0;
	limit->ratio = 1;
	limit->ratio_max = 1;
}

/* The first window is longer than no window, so it leaves the ratio at 1 */
static inline void tcp_limit_window(struct tcp_limit *limit, u64 now_us)
{
	u32 took_us = clamp_t(u64, now_us - limit->window_start_us,
			      1, U32_MAX);

	if (took_us <= limit->window_us)
		limit->ratio++;
	else if (limit->ratio > 1)
		limit->ratio--;
	limit->window_us = took_us;
}

/* @segs segments arrived in order at @now_us; @rwnd_segs: advertised window. */
static inline void tcp_limit_arrival(struct tcp_limit *limit,
				     const struct tcp_limit_params *params,
				     u64 now_us, u32 segs, u32 rwnd_segs)
{
	limit->count_segs += segs;

	if (limit->window_segs) {
		if (limit->count_segs < limit->window_segs)
			return;
		tcp_limit_window(limit, now_us);
	} else {
		limit->start_segs = READ_ONCE(params->limit);
		if (limit->start_segs <= 1)
			limit->start_segs = tcp_limit_start_segs(rwnd_segs);
		if (limit->count_segs < limit->start_segs)
			return;
		limit->window_segs = max(rwnd_segs, 1);
	}

	limit->window_start_us = now_us;
	limit->count_segs = 0;
	limit->ratio_max = clamp(rwnd_segs / 3, 1,
				 (u32)READ_ONCE(params->limit_max));
	limit->ratio = min(limit->ratio, limit->ratio_max);
}

#endif /* _TCP_ACKPOL_LIMIT_H */
