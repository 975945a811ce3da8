// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dynamic ACK limiting
 *
 * Linux sends an ACK when more than one full segment is unacknowledged.  This
 * policy does so for more than "ratio" segments, and adapts the ratio:
 *
 *   start ----> count segments, ratio 1 ----> time windows of segments ---+
 *                 ^       until start_segs      |   ^                     |
 *                 |                             |   | no longer than the  |
 *                 +---- data is missing --------+   | one before: ratio++ |
 *                                                   | longer: ratio--     |
 *                                                   +---------------------+
 *
 * Fewer ACKs would slow down a sender that is still opening its congestion
 * window.  The receiver does not know that window, so it assumes the worst
 * case, a sender in congestion avoidance from its first segment:
 *
 *   start_segs = (W + 2) * (W + 1) / 2 - 1        (equation 2.5)
 *
 * where W is the advertised window in segments.  If a higher ratio slows down
 * the sender, a window takes longer, and the ratio is reduced.  It is at most
 * min(64, W / 3), so that at least three ACKs are sent per window.
 *
 * Source:
 *   [1] A. Statkus, "Performance investigation of data packets transport
 *       control protocol in heterogeneous networks", dissertation, Vilnius
 *       Gediminas Technical University, 2017, sections 2.4 to 2.6.
 *
 * Its text, flow graph and code disagree.  This implementation:
 *
 * - The ratio starts at 1, as in the text.  In the code it starts at 0, which
 *   would acknowledge every segment.  The first window is therefore only timed;
 *   in the code it increases the ratio from 0 to 1.
 * - The second window must not be longer than the first.  The code compares it
 *   with the time since boot, so the test always passes.
 * - A longer window reduces the ratio by 1, to at least 1: section 2.5 returns
 *   to the previous value, 2.6 decrements.  The code resets a ratio above 4 to
 *   1, and otherwise keeps a ratio that has just failed.
 * - The maximum applies.  The code computes it, but does not use it.  It
 *   follows the advertised window, which may shrink.
 * - The length of a window in segments, "start_ack_lmt2", is not defined.  It
 *   is W, after WIN/SMSS in the text, at the time when limiting began: a
 *   growing window would take longer for this reason alone.  It has W segments,
 *   whereas the code's ">" counts one more.
 * - start_segs follows the advertised window until it is reached, as the text
 *   computes it after a window update.  With a window of 3 MB it is 2 million
 *   segments; tcp_ack_limit sets a number instead.
 * - Time is in microseconds, not in jiffies, whose length depends on HZ.  The
 *   ratio fluctuates if windows take about the same time.
 * - Segments are counted.  The code counts arrivals, but GRO merges segments.
 *
 * tcp_cleanup_rbuf(), which [1] leaves unchanged, also acknowledges two
 * segments when they are read.  With a reader that keeps up this would override
 * any ratio, so it is disabled here.  Other ACKs wait for the delayed ACK
 * timer, as in [1].
 */

#include <linux/module.h>
#include <net/netlink.h>
#include <net/tcp.h>

#include "tcp_ackpol_limit.h"

static const struct tcp_limit_params tcp_limit_default =
	TCP_LIMIT_PARAMS_DEFAULT;

static const struct tcp_ackpol_param tcp_limit_param_list[] = {
	TCP_ACKPOL_PARAM("tcp_ack_limit", 0, INT_MAX),
	TCP_ACKPOL_PARAM("tcp_ack_limit_max", 1, 65535),
};

static struct tcp_ackpol_ops tcp_limit;

static void tcp_limit_init(struct sock *sk)
{
	tcp_limit_reset(tcp_ackpol_priv(sk));
}

static void tcp_limit_data_recv(struct sock *sk)
{
	const struct tcp_limit_params *params;
	const struct tcp_ackpol *ap = tcp_ackpol(sk);
	struct tcp_limit *limit = tcp_ackpol_priv(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	params = tcp_ackpol_params(sk, &tcp_limit);

	/* The first segment beyond a hole is not in the queue yet, but the one
	 * that fills it is processed while the others are.
	 */
	if (!RB_EMPTY_ROOT(&tp->out_of_order_queue))
		tcp_limit_reset(limit);
	else
		tcp_limit_arrival(limit, params, ap->arrival_us,
				  ap->segs - limit->seen_segs,
				  tcp_ackpol_window(sk) /
				  inet_csk(sk)->icsk_ack.rcv_mss);
	limit->seen_segs = ap->segs;
}

static void tcp_limit_ack_sent(struct sock *sk)
{
	struct tcp_limit *limit = tcp_ackpol_priv(sk);

	limit->seen_segs = 0;
}

static u32 tcp_limit_ack_delay_us(struct sock *sk)
{
	const struct tcp_limit *limit = tcp_ackpol_priv(sk);

	return tcp_ackpol_exceeds(sk, limit->ratio) ? 0 : TCP_ACKPOL_DELACK;
}

static int tcp_limit_get_info(const struct sock *sk, struct sk_buff *skb)
{
	const struct tcp_limit *limit = tcp_ackpol_priv(sk);

	if (nla_put_u32(skb, TCP_ACKPOL_LIMIT_A_RATIO, limit->ratio) ||
	    nla_put_u32(skb, TCP_ACKPOL_LIMIT_A_RATIO_MAX, limit->ratio_max) ||
	    nla_put_u32(skb, TCP_ACKPOL_LIMIT_A_START_SEGS,
			limit->start_segs) ||
	    nla_put_u32(skb, TCP_ACKPOL_LIMIT_A_COUNT_SEGS,
			limit->count_segs))
		return -EMSGSIZE;

	if (limit->window_us &&
	    nla_put_u32(skb, TCP_ACKPOL_LIMIT_A_WINDOW_US, limit->window_us))
		return -EMSGSIZE;

	return 0;
}

static struct tcp_ackpol_ops tcp_limit __read_mostly = {
	.ack_delay_us	= tcp_limit_ack_delay_us,
	.data_recv	= tcp_limit_data_recv,
	.ack_sent	= tcp_limit_ack_sent,
	.get_info	= tcp_limit_get_info,
	.init		= tcp_limit_init,
	.params		= tcp_limit_param_list,
	.defaults	= (const int *)&tcp_limit_default,
	.nr_params	= ARRAY_SIZE(tcp_limit_param_list),
	.name		= "limit",
	.owner		= THIS_MODULE,
};

static int __init tcp_limit_register(void)
{
	TCP_ACKPOL_CHECK_PRIV(struct tcp_limit);
	TCP_ACKPOL_CHECK_PARAMS(tcp_limit_param_list, tcp_limit_default);

	return tcp_register_ackpol(&tcp_limit);
}

static void __exit tcp_limit_unregister(void)
{
	tcp_unregister_ackpol(&tcp_limit);
}

module_init(tcp_limit_register);
module_exit(tcp_limit_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP dynamic ACK limiting");
MODULE_ALIAS_TCP_ACKPOL("limit");
