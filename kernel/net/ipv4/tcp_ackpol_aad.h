/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TCP-AAD's estimator: from inter-arrival times to the delay of an ACK
 *
 * Pure functions, tested by KUnit, and also compiled as BPF.
 */
#ifndef _TCP_ACKPOL_AAD_H
#define _TCP_ACKPOL_AAD_H

#ifndef __bpf__
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>
#endif

#define TCP_AAD_INF	U32_MAX

/* Sysctls tcp_aad_*, per network namespace */
struct tcp_aad_params {
	int alpha_percent;
	int beta_percent;
	int min_iat_us;
	int reset_ms;
	int segments;
	int max_delay_us;
};

#define TCP_AAD_PARAMS_DEFAULT {		\
	.alpha_percent	= 75,			\
	.beta_percent	= 150,			\
	.min_iat_us	= 200,			\
	.reset_ms	= 1000,			\
	.segments	= 2,			\
	.max_delay_us	= 500000,		\
}

/* Estimates of a connection */
struct tcp_aad {
	u64 reset_us;		/* time of the last reset of iat_min_us */
	u32 iat_min_us;		/* minimum valid IAT since, or TCP_AAD_INF */
	u32 iat_curr_us;	/* last valid IAT, or TCP_AAD_INF */
};

static inline void tcp_aad_start(struct tcp_aad *aad)
{
	aad->reset_us = 0;
	aad->iat_min_us = TCP_AAD_INF;
	aad->iat_curr_us = TCP_AAD_INF;
}

/* Data arrived at @now_us, @iat_us after the data before it, or TCP_AAD_INF
 * for the first.
 */
static inline void tcp_aad_arrival(struct tcp_aad *aad,
				   const struct tcp_aad_params *params,
				   u64 now_us, u32 iat_us)
{
	u64 reset_us = (u64)READ_ONCE(params->reset_ms) * USEC_PER_MSEC;

	if (now_us >= aad->reset_us + reset_us) {
		aad->iat_min_us = TCP_AAD_INF;
		aad->reset_us = now_us;
	}

	if (iat_us == TCP_AAD_INF || iat_us <= READ_ONCE(params->min_iat_us))
		return;

	aad->iat_curr_us = iat_us;
	aad->iat_min_us = min(aad->iat_min_us, iat_us);
}

/* Delay of the ACK for @segs segments after the last of them */
static inline u32 tcp_aad_delay_us(const struct tcp_aad *aad,
				   const struct tcp_aad_params *params,
				   u32 segs)
{
	u32 max_us = READ_ONCE(params->max_delay_us);
	u32 alpha = READ_ONCE(params->alpha_percent);
	u32 beta = READ_ONCE(params->beta_percent);
	u64 delay;

	if (segs < READ_ONCE(params->segments) ||
	    aad->iat_min_us == TCP_AAD_INF)
		return max_us;

	delay = (u64)aad->iat_min_us * alpha +
		(u64)aad->iat_curr_us * (100 - alpha);
	delay = div_u64(delay * beta, 100 * 100);

	return min_t(u64, delay, max_us);
}

#endif /* _TCP_ACKPOL_AAD_H */
