/* SPDX-License-Identifier: GPL-2.0-only */
/* Arithmetic of the policy "count" */
#ifndef _TCP_ACKPOL_COUNT_H
#define _TCP_ACKPOL_COUNT_H

#ifndef __bpf__
#include <linux/compiler.h>
#include <linux/time64.h>
#include <linux/types.h>
#endif

/* Sysctls tcp_ack_count*, per network namespace */
struct tcp_count_params {
	int segs;	/* per ACK; 8 is four times the limit of RFC 5681 */
	int delay_us;	/* 40 ms is TCP_DELACK_MIN */
};

#define TCP_COUNT_PARAMS_DEFAULT {			\
	.segs		= 8,				\
	.delay_us	= 40 * USEC_PER_MSEC,		\
}

/* Delay of the ACK for @segs segments, the first of which arrived at @first_us,
 * the last at @now_us
 */
static inline u32 tcp_count_delay_us(const struct tcp_count_params *params,
				     u32 segs, u64 first_us, u64 now_us)
{
	u64 due_us;

	if (segs >= READ_ONCE(params->segs))
		return 0;

	due_us = first_us + READ_ONCE(params->delay_us);
	return due_us <= now_us ? 0 : due_us - now_us;
}

#endif /* _TCP_ACKPOL_COUNT_H */
