// SPDX-License-Identifier: GPL-2.0-only
/*
 * TACK (tamed ACKs), receiver side
 *
 * A sender needs only a few ACKs per round trip time at any rate, and never
 * more than one for L segments:
 *
 *   ACKs per second = min(bandwidth / (L * MSS), beta / minimum RTT)
 *   time between    = max(L * MSS / bandwidth, minimum RTT / beta)
 *
 * So there are two regimes, depending on the bandwidth-delay product:
 *
 *                 below beta * L segments      above
 *   ACK           after L full segments        minimum RTT / beta after the
 *                                              first unacknowledged segment
 *   one segment   delayed ACK timer            same
 *
 *   [1] T. Li, K. Zheng, K. Xu, R. A. Jadhav, T. Xiong, K. Winstein, K. Tan,
 *       "TACK: Improving Wireless Transport Performance by Taming
 *       Acknowledgments", SIGCOMM 2020.
 *
 * With L = 2 the first regime is Linux's delayed ACK.  With beta = 4 at most a
 * quarter of the data in flight depends on one ACK, and half if one is lost.
 *
 * Minimum RTT: the minimum in 10 s of the receiver's estimate.  It is measured
 * with timestamps, which have a resolution of 1 ms, so it is at least 1 ms.
 * Without timestamps it is the time in which a window arrives, which may be
 * many round trips if the sender's window is smaller; then the smoothed RTT of
 * data sent by this end, at least of the handshake, counts as well if it is
 * less, as in SACK compression.  An RTT that is too small only causes more
 * ACKs.  In [1] the sender measures the RTT and reports it to the receiver.
 *
 * Bandwidth: bytes that arrived in order in at least one minimum RTT, the
 * maximum of 10 of them.  Due to the maximum, a pause of the application does
 * not count as a slow path; after a longer pause the first regime applies until
 * the next measurement.  Until RTT and bandwidth are known, Linux's rule
 * applies.
 *
 * A sender's probe timeout is 2 smoothed RTTs, so minimum RTT / beta does not
 * trigger probes.
 *
 * TCP acknowledges at once when data is missing and when the window is nearly
 * exhausted, for which [1] has instant ACKs (IACK).  Everything that needs
 * support by the sender is not implemented: more blocks of received data than
 * SACK has, IACKs that report loss, with retransmission triggered by the
 * receiver, RTT measurement with departure times and ACK delays, and pacing at
 * a rate reported by the receiver instead of ACK clocking.  A sender without
 * pacing answers each ACK by a burst of 1/beta of its window.
 */

#include <linux/module.h>
#include <net/netlink.h>
#include <net/tcp.h>

#include "tcp_ackpol_tack.h"

static const struct tcp_tack_params tcp_tack_default = TCP_TACK_PARAMS_DEFAULT;

static const struct tcp_ackpol_param tcp_tack_param_list[] = {
	TCP_ACKPOL_PARAM("tcp_tack_segments", 1, 65535),
	TCP_ACKPOL_PARAM("tcp_tack_beta", 1, 65535),
};

static struct tcp_ackpol_ops tcp_tack;

static const struct tcp_tack_params *tcp_tack_params(const struct sock *sk)
{
	return tcp_ackpol_params(sk, &tcp_tack);
}

static void tcp_tack_data_recv(struct sock *sk)
{
	struct tcp_tack *tack = tcp_ackpol_priv(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt_us = tp->rcv_rtt_est.rtt_us;

	if (!RB_EMPTY_ROOT(&tp->out_of_order_queue)) {
		tcp_tack_hole(tack);
		return;
	}

	if (!tp->rx_opt.tstamp_ok && tp->srtt_us &&
	    (!rtt_us || tp->srtt_us < rtt_us))
		rtt_us = tp->srtt_us;

	tcp_tack_arrival(tack, tcp_ackpol(sk)->arrival_us, tp->rcv_nxt, rtt_us >> 3);
}

static u32 tcp_tack_ack_delay_us(struct sock *sk)
{
	const struct tcp_tack_params *params = tcp_tack_params(sk);
	const struct tcp_tack *tack = tcp_ackpol_priv(sk);
	const struct tcp_ackpol *ap = tcp_ackpol(sk);
	u32 interval_us, segs;
	u64 due_us;

	interval_us = tcp_tack_interval_us(tack, params,
					   inet_csk(sk)->icsk_ack.rcv_mss);
	if (interval_us > tcp_tack_period_us(tack, params)) {
		segs = interval_us == U32_MAX ? 2 :
						READ_ONCE(params->segments);
		return tcp_ackpol_exceeds(sk, segs - 1) ? 0 :
							  TCP_ACKPOL_DELACK;
	}

	due_us = ap->first_us + interval_us;
	return due_us <= ap->arrival_us ? 0 : due_us - ap->arrival_us;
}

static int tcp_tack_get_info(const struct sock *sk, struct sk_buff *skb)
{
	const struct tcp_tack *tack = tcp_ackpol_priv(sk);
	u32 rtt_us = tcp_tack_rtt_us(tack);
	u32 interval_us;

	interval_us = tcp_tack_interval_us(tack, tcp_tack_params(sk),
					   inet_csk(sk)->icsk_ack.rcv_mss);
	if (rtt_us &&
	    nla_put_u32(skb, TCP_ACKPOL_TACK_A_MIN_RTT_US, rtt_us))
		return -EMSGSIZE;

	if (interval_us != U32_MAX &&
	    nla_put_u32(skb, TCP_ACKPOL_TACK_A_INTERVAL_US, interval_us))
		return -EMSGSIZE;

	if (nla_put_u64_64bit(skb, TCP_ACKPOL_TACK_A_BYTES_PER_S,
			      (u64)minmax_get(&tack->bytes_per_ms) *
			      MSEC_PER_SEC, TCP_ACKPOL_TACK_A_PAD))
		return -EMSGSIZE;

	return 0;
}

static struct tcp_ackpol_ops tcp_tack __read_mostly = {
	.ack_delay_us	= tcp_tack_ack_delay_us,
	.data_recv	= tcp_tack_data_recv,
	.get_info	= tcp_tack_get_info,
	.params		= tcp_tack_param_list,
	.defaults	= (const int *)&tcp_tack_default,
	.nr_params	= ARRAY_SIZE(tcp_tack_param_list),
	.name		= "tack",
	.owner		= THIS_MODULE,
};

static int __init tcp_tack_register(void)
{
	TCP_ACKPOL_CHECK_PRIV(struct tcp_tack);
	TCP_ACKPOL_CHECK_PARAMS(tcp_tack_param_list, tcp_tack_default);

	return tcp_register_ackpol(&tcp_tack);
}

static void __exit tcp_tack_unregister(void)
{
	tcp_unregister_ackpol(&tcp_tack);
}

module_init(tcp_tack_register);
module_exit(tcp_tack_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP TACK: tamed acknowledgments, receiver's side");
MODULE_ALIAS_TCP_ACKPOL("tack");
