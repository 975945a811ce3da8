// SPDX-License-Identifier: GPL-2.0-only
/*
 * ACK division (divacks)
 *
 * The ACK for data is preceded by tcp_divack partial ACKs, the divacks.  A
 * sender that sends one segment for each of them leaves slow start in fewer
 * round trips:
 *
 *	data up to e arrives -->  ACK e - n, e - n + 1, ... e - 1, and ACK e
 *
 * This is the loop in table I of
 *   [1] A. Arcia-Moret, O. Diaz, N. Montavont, "A Tunable Slow Start for TCP",
 *       Global Information Infrastructure and Networking Symposium, 2012.
 * With tcp_divack_spread_us the parts are spread evenly over that time, with
 * the full ACK at the end, which avoids a burst of the sender.
 *
 * A sender that counts acknowledged segments, as Linux does, ignores divacks
 * unless configured otherwise (net.ipv4.tcp_divack_sender), because they are
 * also an attack:
 *   [2] S. Savage, N. Cardwell, D. Wetherall, T. Anderson, "TCP congestion
 *       control with a misbehaving receiver", ACM SIGCOMM Computer
 *       Communication Review, vol. 29, no. 5, 1999.
 *
 * Only ACKs for data in order are divided, not those that report loss or
 * congestion, fill a hole or acknowledge a FIN, as [1] III.B requires.
 * Segments merged by GRO are one arrival and get one series.
 *
 * Partial ACKs have the window field of the full ACK, so their right edge is up
 * to n bytes to the left of that.  It may also be to the left of what was
 * offered before.  Senders have to handle that (RFC 9293, 3.8.6); they cannot
 * use these bytes until the full ACK, and this end accepts what they send until
 * then.
 */

#include <linux/module.h>
#include <linux/time64.h>
#include <net/netlink.h>
#include <net/tcp.h>

#include "tcp_ackpol_divack.h"

static const struct tcp_divack_params tcp_divack_default =
	TCP_DIVACK_PARAMS_DEFAULT;

static const struct tcp_ackpol_param tcp_divack_param_list[] = {
	TCP_ACKPOL_PARAM("tcp_divack", 0, TCP_DIVACK_PARTS_MAX),
	TCP_ACKPOL_PARAM("tcp_divack_spread_us", 0, USEC_PER_SEC / 2),
};

static struct tcp_ackpol_ops tcp_divack;

/* Send the remaining parts of the series */
static void tcp_divack_send_parts(struct sock *sk, struct tcp_divack *divack)
{
	while (divack->left > 1)
		__tcp_send_ack(sk, tcp_divack_next(divack), 0);
}

/* Start a series for the data that arrived, unless it has one. The rest of the
 * previous series is sent at once, as it would have been without
 * tcp_divack_spread_us; if the next ACK reports congestion, it stands for both.
 *
 * Return: false if there was no new data.
 */
static bool tcp_divack_begin(struct sock *sk, struct tcp_divack *divack)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 acked = tp->rcv_wup;

	if (divack->left) {
		if (divack->end == tp->rcv_nxt)
			return false;

		/* The parts have moved rcv_wup beyond the data acknowledged */
		acked = divack->end;
		if (!(tp->ecn_flags & TCP_ECN_DEMAND_CWR)) {
			tcp_divack_send_parts(sk, divack);
			__tcp_send_ack(sk, divack->end, 0);
		}
	}

	tcp_divack_start(divack, tcp_ackpol_params(sk, &tcp_divack), acked,
			 tp->rcv_nxt);
	if (tp->ecn_flags & TCP_ECN_DEMAND_CWR)
		tcp_divack_whole(divack);
	return true;
}

/* The first part of a spread series is sent here, the others by the timer */
static u32 tcp_divack_ack_delay_us(struct sock *sk)
{
	struct tcp_divack *divack = tcp_ackpol_priv(sk);

	/* Duplicate data or a pure ACK: send only the full ACK */
	if (!tcp_divack_begin(sk, divack)) {
		divack->left = 1;
		return 0;
	}

	if (!divack->step_us)
		return 0;

	__tcp_send_ack(sk, tcp_divack_next(divack), 0);
	return divack->step_us;
}

static void tcp_divack_ack_due(struct sock *sk, enum tcp_ackpol_reason reason)
{
	struct tcp_divack *divack = tcp_ackpol_priv(sk);

	switch (reason) {
	case TCP_ACKPOL_TIMER:
	case TCP_ACKPOL_POLICY:
	case TCP_ACKPOL_QUICK:
	case TCP_ACKPOL_WINDOW:
		tcp_divack_begin(sk, divack);
		tcp_divack_send_parts(sk, divack);
		break;
	default:
		break;
	}
}

static u32 tcp_divack_timer(struct sock *sk)
{
	struct tcp_divack *divack = tcp_ackpol_priv(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	/* Data is missing: ACKs now report loss */
	if (!RB_EMPTY_ROOT(&tp->out_of_order_queue))
		return 0;

	if (divack->left <= 1)
		return 0;

	__tcp_send_ack(sk, tcp_divack_next(divack), 0);
	return divack->step_us;
}

static void tcp_divack_ack_sent(struct sock *sk)
{
	struct tcp_divack *divack = tcp_ackpol_priv(sk);

	divack->left = 0;
}

static int tcp_divack_get_info(const struct sock *sk, struct sk_buff *skb)
{
	const struct tcp_divack *divack = tcp_ackpol_priv(sk);

	return nla_put_u32(skb, TCP_ACKPOL_DIVACK_A_PARTS,
			   divack->left ? divack->left - 1 : 0);
}

static struct tcp_ackpol_ops tcp_divack __read_mostly = {
	.ack_delay_us	= tcp_divack_ack_delay_us,
	.ack_due	= tcp_divack_ack_due,
	.ack_sent	= tcp_divack_ack_sent,
	.timer		= tcp_divack_timer,
	.flags		= TCP_ACKPOL_F_QUICK,
	.get_info	= tcp_divack_get_info,
	.params		= tcp_divack_param_list,
	.defaults	= (const int *)&tcp_divack_default,
	.nr_params	= ARRAY_SIZE(tcp_divack_param_list),
	.name		= "divack",
	.owner		= THIS_MODULE,
};

static int __init tcp_divack_register(void)
{
	TCP_ACKPOL_CHECK_PRIV(struct tcp_divack);
	TCP_ACKPOL_CHECK_PARAMS(tcp_divack_param_list, tcp_divack_default);

	return tcp_register_ackpol(&tcp_divack);
}

static void __exit tcp_divack_unregister(void)
{
	tcp_unregister_ackpol(&tcp_divack);
}

module_init(tcp_divack_register);
module_exit(tcp_divack_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP ACK division (divacks)");
MODULE_ALIAS_TCP_ACKPOL("divack");
