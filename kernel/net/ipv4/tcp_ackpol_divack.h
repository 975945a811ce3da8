/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ACK division: acknowledgment numbers and times of partial ACKs
 *
 * Pure functions, tested by KUnit.
 */
#ifndef _TCP_ACKPOL_DIVACK_H
#define _TCP_ACKPOL_DIVACK_H

#include <linux/minmax.h>
#include <linux/types.h>

/* Twice the maximum of any product: Cisco's RBSCP has 32 */
#define TCP_DIVACK_PARTS_MAX	64

/* Sysctls tcp_divack and tcp_divack_spread_us, per network namespace */
struct tcp_divack_params {
	int parts;
	int spread_us;
};

/* Three parts: example in the paper, figure 4 */
#define TCP_DIVACK_PARAMS_DEFAULT {		\
	.parts		= 3,			\
	.spread_us	= 0,			\
}

/* Series of ACKs for one arrival of data */
struct tcp_divack {
	u32 end;		/* acknowledgment number of the full ACK */
	u32 left;		/* ACKs to be sent, including the full ACK */
	u32 step_us;		/* time between ACKs; 0: all at once */
};

/* Start a series for the data from @acked, the last acknowledgment number, to
 * @end. Every part acknowledges new data, so little data has few parts.
 */
static inline void tcp_divack_start(struct tcp_divack *divack,
				    const struct tcp_divack_params *params,
				    u32 acked, u32 end)
{
	u32 spread_us = READ_ONCE(params->spread_us);
	u32 parts = READ_ONCE(params->parts);
	u32 bytes = end - acked;

	parts = min(parts, bytes ? bytes - 1 : 0);
	divack->end = end;
	divack->left = bytes ? parts + 1 : 0;
	divack->step_us = 0;
	if (spread_us && parts)
		divack->step_us = max(spread_us / parts, 1U);
}

/* The ACK reports congestion and is not divided */
static inline void tcp_divack_whole(struct tcp_divack *divack)
{
	divack->left = min(divack->left, 1U);
	divack->step_us = 0;
}

/* Acknowledgment number of the next ACK in the series */
static inline u32 tcp_divack_next(struct tcp_divack *divack)
{
	divack->left--;
	return divack->end - divack->left;
}

#endif /* _TCP_ACKPOL_DIVACK_H */
