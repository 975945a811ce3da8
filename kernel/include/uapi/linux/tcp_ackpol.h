/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * TCP acknowledgment policies: what INET_DIAG_ACKPOL tells.
 * See Documentation/networking/tcp_ackpol.rst.
 */
#ifndef _UAPI_LINUX_TCP_ACKPOL_H
#define _UAPI_LINUX_TCP_ACKPOL_H

#include <linux/types.h>

/* Length of a policy's name, with the closing zero */
#define TCP_ACKPOL_NAME_MAX	16

/* Attributes nested in INET_DIAG_ACKPOL */
enum {
	TCP_ACKPOL_DIAG_UNSPEC,
	TCP_ACKPOL_DIAG_NAME,		/* string */
	TCP_ACKPOL_DIAG_INFO,		/* struct tcp_ackpol_info */
	__TCP_ACKPOL_DIAG_MAX,
};

#define TCP_ACKPOL_DIAG_MAX	(__TCP_ACKPOL_DIAG_MAX - 1)

/* An unknown time */
#define TCP_ACKPOL_US_NONE	0xffffffffU

/* policies "aad" and "aad-listing" */
struct tcp_ackpol_aad_state {
	__u32	iat_min_us;	/* least time between aggregates, or NONE */
	__u32	iat_curr_us;	/* last time between aggregates, or NONE */
};

/* policy "limit" */
struct tcp_ackpol_limit_state {
	__u32	ratio;		/* an ACK when more than so many segments wait */
	__u32	ratio_max;
	__u32	start_segs;	/* segments before limiting starts */
	__u32	count_segs;	/* segments counted towards that, or of the
				 * window being timed
				 */
	__u32	window_us;	/* what the last window of segments took */
};

/* policies "every" and "count" */
struct tcp_ackpol_count_state {
	__u32	segs;		/* segments an ACK */
};

/* policy "tack" */
struct tcp_ackpol_tack_state {
	__u32	min_rtt_us;	/* or NONE */
	__u32	interval_us;	/* between ACKs */
	__u64	bytes_per_s;	/* rate of delivery */
};

/* policy "divack" */
struct tcp_ackpol_divack_state {
	__u32	parts;		/* still to be sent before the full ACK */
};

union tcp_ackpol_state {
	struct tcp_ackpol_aad_state	aad;
	struct tcp_ackpol_limit_state	limit;
	struct tcp_ackpol_count_state	count;
	struct tcp_ackpol_tack_state	tack;
	struct tcp_ackpol_divack_state	divack;
	__u64				other[4];
};

struct tcp_ackpol_info {
	__u32	segs;		/* received and not yet acknowledged */
	__u32	iat_us;		/* between the last two arrivals, or NONE */
	__u32	delay_us;	/* what the policy last chose */
	__u32	due_us;		/* until the policy's timer expires, or NONE */
	union tcp_ackpol_state state;
};

#endif /* _UAPI_LINUX_TCP_ACKPOL_H */
