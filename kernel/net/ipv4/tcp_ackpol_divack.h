/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ACK division: which numbers the parts of an ACK acknowledge, and when.
 * Pure functions, so that they can be tested without a socket.
 */
#ifndef _TCP_ACKPOL_DIVACK_H
#define _TCP_ACKPOL_DIVACK_H

#include <linux/minmax.h>
#include <linux/types.h>

/* Twice the most that a product offers: Cisco's RBSCP has 32 */
#define TCP_DIVACK_PARTS_MAX	64

/* What the sysctls tcp_divack and tcp_divack_spread_us set, per network
 * namespace
 */
struct tcp_divack_params {
	int parts;
	int spread_us;
};

/* Three parts: the example of the paper, its figure 4 */
#define TCP_DIVACK_PARAMS_DEFAULT {		\
	.parts		= 3,			\
	.spread_us	= 0,			\
}

/* The series of ACKs that one arrival of data gets */
struct tcp_divack {
	u32 end;		/* what the full ACK, the last, acknowledges */
	u32 left;		/* still to be sent, the full ACK too; or 0 */
	u32 step_us;		/* from one to the next; 0: all at once */
};

/* Begin a series for the data from @acked, which the last ACK acknowledged, to
 * @end.  Each part acknowledges something new, so little data has few parts.
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
	divack->left = parts + 1;
	divack->step_us = 0;
	if (spread_us && parts)
		divack->step_us = max(spread_us / parts, 1U);
}

/* The ACK tells of congestion: it is not divided */
static inline void tcp_divack_whole(struct tcp_divack *divack)
{
	divack->left = 1;
	divack->step_us = 0;
}

/* What the next ACK of the series acknowledges */
static inline u32 tcp_divack_next(struct tcp_divack *divack)
{
	divack->left--;
	return divack->end - divack->left;
}

#endif /* _TCP_ACKPOL_DIVACK_H */
