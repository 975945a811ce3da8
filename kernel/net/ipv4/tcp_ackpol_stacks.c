// SPDX-License-Identifier: GPL-2.0-only
/*
 * When other stacks and drafts acknowledge, for comparison
 *
 *                fewer than two       ACK
 *                full segments
 *   "xnu"        delayed ACK timer    Linux's rule until the receive window is
 *                                     1.5 times its initial size, then RTT / 2
 *                                     after the first segment, at most for 256
 *   "quiche"     as more              after 2 segments for the first 100, then
 *                                     after 10, or a quarter of the minimum RTT
 *                                     after the first segment, from 1 to 25 ms
 *   "bbr-draft"  delayed ACK timer    with a quarter of the data of a round
 *                                     trip, RTT / 2 after the first segment, or
 *                                     RTT / 4 while the rate grows
 *
 * "xnu" approximates TCP of macOS, which acknowledges a quarter of its receive
 * window, about half a round trip, and leaves the rest to its delayed ACK timer.
 * "quiche" is the QUIC library of Google Chrome.  "bbr-draft" sends as few ACKs
 * as a sender may request according to draft-ietf-ccwg-bbr.  All use the
 * receiver's estimate of the RTT, see tcp_ackpol_rtt_us(); the draft means the
 * sender's, and its congestion window, which is the data of a round trip here.
 */

#include <linux/module.h>
#include <net/tcp.h>

#include "tcp_ackpol_auto.h"

#define TCP_XNU_MAX_SEGS	256

#define TCP_QUICHE_START_SEGS	100
#define TCP_QUICHE_SEGS		10
#define TCP_QUICHE_MIN_US	USEC_PER_MSEC
#define TCP_QUICHE_MAX_US	(25 * USEC_PER_MSEC)

/**
 * struct tcp_xnu - private state of "xnu"
 * @window: initial receive window in bytes, 0 before the first data
 */
struct tcp_xnu {
	u32 window;
};

/**
 * struct tcp_quiche - private state of "quiche"
 * @segs: acknowledged segments
 * @min_rtt_us: shortest round trip, 0 if unknown
 */
struct tcp_quiche {
	u32 segs;
	u32 min_rtt_us;
};

/* Time left of @interval_us since the first unacknowledged segment */
static u32 tcp_stacks_left_us(const struct sock *sk, u32 interval_us)
{
	const struct tcp_ackpol *ap = tcp_ackpol(sk);
	u64 due_us = ap->first_us + interval_us;

	return due_us <= ap->arrival_us ? 0 : due_us - ap->arrival_us;
}

static void tcp_xnu_data_recv(struct sock *sk)
{
	struct tcp_xnu *xnu = tcp_ackpol_priv(sk);

	if (!xnu->window)
		xnu->window = tcp_sk(sk)->rcv_wnd;
}

static u32 tcp_xnu_ack_delay_us(struct sock *sk)
{
	const struct tcp_xnu *xnu = tcp_ackpol_priv(sk);
	u32 rtt_us = tcp_ackpol_rtt_us(sk);

	if (!tcp_ackpol_exceeds(sk, 1))
		return TCP_ACKPOL_DELACK;

	if (tcp_sk(sk)->rcv_wnd <= xnu->window + xnu->window / 2 || !rtt_us ||
	    tcp_ackpol(sk)->segs >= TCP_XNU_MAX_SEGS)
		return 0;

	return tcp_stacks_left_us(sk, rtt_us / 2);
}

static void tcp_quiche_data_recv(struct sock *sk)
{
	struct tcp_quiche *quiche = tcp_ackpol_priv(sk);
	u32 rtt_us = tcp_ackpol_rtt_us(sk);

	if (rtt_us && (!quiche->min_rtt_us || rtt_us < quiche->min_rtt_us))
		quiche->min_rtt_us = rtt_us;
}

static void tcp_quiche_ack_sent(struct sock *sk)
{
	struct tcp_quiche *quiche = tcp_ackpol_priv(sk);
	u32 segs = tcp_ackpol(sk)->segs;

	quiche->segs += min(segs, U32_MAX - quiche->segs);
}

static u32 tcp_quiche_ack_delay_us(struct sock *sk)
{
	const struct tcp_quiche *quiche = tcp_ackpol_priv(sk);
	u32 interval_us = TCP_QUICHE_MAX_US;
	u32 segs = 2;

	if (quiche->segs >= TCP_QUICHE_START_SEGS) {
		segs = TCP_QUICHE_SEGS;
		interval_us = clamp(quiche->min_rtt_us / 4, TCP_QUICHE_MIN_US,
				    TCP_QUICHE_MAX_US);
	}

	if (tcp_ackpol(sk)->segs >= segs)
		return 0;

	return tcp_stacks_left_us(sk, interval_us);
}

static void tcp_bbr_draft_data_recv(struct sock *sk)
{
	struct tcp_auto *state = tcp_ackpol_priv(sk);
	u64 now_us = tcp_ackpol(sk)->arrival_us;
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt_us = tcp_ackpol_rtt_us(sk);

	if (!RB_EMPTY_ROOT(&tp->out_of_order_queue)) {
		tcp_auto_hole(state);
		return;
	}

	/* A silence is not part of a round: start another with this segment */
	if (tcp_ackpol_iat_us(tcp_ackpol(sk)) > rtt_us)
		tcp_auto_hole(state);
	if (tcp_auto_arrival(state, now_us, tp->rcv_nxt, rtt_us))
		tcp_auto_end_round(state, now_us, tp->rcv_nxt, rtt_us);
}

static u32 tcp_bbr_draft_ack_delay_us(struct sock *sk)
{
	const struct tcp_auto *state = tcp_ackpol_priv(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt_us = tcp_ackpol_rtt_us(sk);

	if (!tcp_ackpol_exceeds(sk, 1))
		return TCP_ACKPOL_DELACK;

	if (!rtt_us || tp->rcv_nxt - tp->rcv_wup >= state->round_bytes / 4)
		return 0;

	return tcp_stacks_left_us(sk, tcp_auto_may_grow(state) ? rtt_us / 4 :
								 rtt_us / 2);
}

static struct tcp_ackpol_ops tcp_stacks[] __read_mostly = {
	{
		.ack_delay_us	= tcp_xnu_ack_delay_us,
		.data_recv	= tcp_xnu_data_recv,
		.name		= "xnu",
		.owner		= THIS_MODULE,
	},
	{
		.ack_delay_us	= tcp_quiche_ack_delay_us,
		.data_recv	= tcp_quiche_data_recv,
		.ack_sent	= tcp_quiche_ack_sent,
		.name		= "quiche",
		.owner		= THIS_MODULE,
	},
	{
		.ack_delay_us	= tcp_bbr_draft_ack_delay_us,
		.data_recv	= tcp_bbr_draft_data_recv,
		.name		= "bbr-draft",
		.owner		= THIS_MODULE,
	},
};

static void tcp_stacks_unregister_first(int count)
{
	while (count--)
		tcp_unregister_ackpol(&tcp_stacks[count]);
}

static int __init tcp_stacks_register(void)
{
	int i, ret;

	TCP_ACKPOL_CHECK_PRIV(struct tcp_auto);

	for (i = 0; i < ARRAY_SIZE(tcp_stacks); i++) {
		ret = tcp_register_ackpol(&tcp_stacks[i]);
		if (ret) {
			tcp_stacks_unregister_first(i);
			return ret;
		}
	}
	return 0;
}

static void __exit tcp_stacks_unregister(void)
{
	tcp_stacks_unregister_first(ARRAY_SIZE(tcp_stacks));
}

module_init(tcp_stacks_register);
module_exit(tcp_stacks_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP acknowledgments as in other stacks and drafts");
MODULE_ALIAS_TCP_ACKPOL("xnu");
MODULE_ALIAS_TCP_ACKPOL("quiche");
MODULE_ALIAS_TCP_ACKPOL("bbr-draft");
