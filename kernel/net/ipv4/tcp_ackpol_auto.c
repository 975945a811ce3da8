// SPDX-License-Identifier: GPL-2.0-only
/*
 * "auto": fewer ACKs while data waits in queues
 *
 * Over Wi-Fi the cost of an ACK is not its bytes but a channel access, which
 * may collide with an aggregate of the access point.  The sender needs
 *
 *   - an ACK before the queues run empty of what it has sent, so an ACK may be
 *     late by a part of the time that data waits there, and not at all if they
 *     are nearly empty
 *   - an ACK at least for each quarter of the data in flight, or else it sends
 *     in large bursts and stops between them
 *   - many ACKs in slow start, because these end it in time (HyStart needs
 *     eight in a round trip), and because its window grows with ACKs
 *   - an ACK for its last data when it waits for that, after a short silence
 *
 * The RTT without queues is the shortest seen on the path.  While data waits in
 * queues, the rate is that of the path; if it falls by a quarter, the path may
 * have changed, and the shortest RTT is measured again.  So the ACK is sent
 *
 *   slow start, queueing delay at  as without a policy
 *   most 3 ms, or fewer than 8
 *   segments in T
 *   at most one full segment       by the delayed ACK timer
 *   otherwise                      on the first arrival after T, or with 1/4 of
 *                                  the data of a round trip
 *   T                              a quarter of the queueing delay, from 2 ms or
 *                                  RTT / 16 to 10 ms
 *   nothing more arrives           after 2 ms or RTT / 16, but RTT / 2 after the
 *                                  first segment if queues double the RTT: other
 *                                  stations have the medium
 *
 * Where several stations share the medium, data arrives in bursts. An ACK for each
 * burst is what TCP sends without a policy, so one is sent for every second burst if
 * about two or more are in flight; the bound of a quarter does not apply then.
 *
 * With an RTT of 3 ms or less, as on most cables, nothing changes.
 */

#include <linux/module.h>
#include <net/netlink.h>
#include <net/tcp.h>

#include "tcp_ackpol_auto.h"

/* TCP's own minimum RTT may be that of another path if it is older */
#define TCP_AUTO_RECENT		(10 * HZ)

static const struct tcp_auto_params tcp_auto_default = TCP_AUTO_PARAMS_DEFAULT;

static const struct tcp_ackpol_param tcp_auto_param_list[] = {
	TCP_ACKPOL_PARAM("tcp_auto_min_interval_us", 1, USEC_PER_SEC / 2),
	TCP_ACKPOL_PARAM("tcp_auto_max_interval_us", 1, USEC_PER_SEC / 2),
};

static struct tcp_ackpol_ops tcp_auto;

static const struct tcp_auto_params *tcp_auto_params(const struct sock *sk)
{
	return tcp_ackpol_params(sk, &tcp_auto);
}

/* On a connection that exists, data may wait in queues already; in the handshake
 * it did not. If that was long ago, the path may have changed since. srtt_us is 0
 * before the handshake, while rtt_min may be that of an earlier connection.
 */
static void tcp_auto_init(struct sock *sk)
{
	struct tcp_auto *state = tcp_ackpol_priv(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (tp->srtt_us &&
	    tcp_jiffies32 - tp->rtt_min.s[0].t < TCP_AUTO_RECENT)
		state->min_rtt_us = tcp_min_rtt(tp);
}

/* Arrivals in between need no hook. In quick ACK mode no policy is asked, so state
 * here what it would decide: whether growth of the window prolongs that mode depends
 * on it.
 */
static void tcp_auto_apply(struct tcp_ackpol *ap, const struct tcp_auto *state)
{
	ap->gap_us = state->gap_us;
	ap->as_default = !state->interval_us;
}

/* Not inlined: once per round trip, while tcp_auto_ack_sent() runs for each ACK */
static noinline void tcp_auto_next_round(struct sock *sk, u32 rtt_us)
{
	struct tcp_auto *state = tcp_ackpol_priv(sk);
	u32 burst_us;

	burst_us = tcp_auto_end_round(state, tcp_ackpol(sk)->arrival_us,
				      tcp_sk(sk)->rcv_nxt, rtt_us);
	tcp_auto_decide(state, tcp_auto_params(sk), burst_us,
			inet_csk(sk)->icsk_ack.rcv_mss, rtt_us);
	tcp_auto_apply(tcp_ackpol(sk), state);
}

/* Rounds end with an ACK: that is often enough, and costs less */
static void tcp_auto_ack_sent(struct sock *sk)
{
	const struct tcp_ackpol *ap = tcp_ackpol(sk);
	struct tcp_auto *state = tcp_ackpol_priv(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt_us = tcp_ackpol_rtt_us(sk);

	state->received += ap->segs;
	if (!RB_EMPTY_ROOT(&tp->out_of_order_queue))
		tcp_auto_hole(state);
	else if (tcp_auto_arrival(state, ap->arrival_us, tp->rcv_nxt, rtt_us))
		tcp_auto_next_round(sk, rtt_us);
}

/* Only after gaps, see tcp_auto_apply() */
static void tcp_auto_data_recv(struct sock *sk)
{
	struct tcp_auto *state = tcp_ackpol_priv(sk);
	struct tcp_ackpol *ap = tcp_ackpol(sk);

	tcp_auto_gap(state, ap->arrival_us - ap->previous_us);
	tcp_auto_apply(ap, state);
}

static u32 tcp_auto_ack_delay_us(struct sock *sk)
{
	const struct tcp_auto *state = tcp_ackpol_priv(sk);
	const struct tcp_ackpol *ap = tcp_ackpol(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!state->interval_us)
		return TCP_ACKPOL_AS_DEFAULT;

	if (!tcp_ackpol_exceeds(sk, 1))
		return TCP_ACKPOL_DELACK;

	if (tcp_auto_large(state, tp->rcv_nxt - tp->rcv_wup, ap->segs))
		return 0;

	return tcp_auto_delay_us(state, ap->first_us, ap->arrival_us);
}

static int tcp_auto_get_info(const struct sock *sk, struct sk_buff *skb)
{
	const struct tcp_auto *state = tcp_ackpol_priv(sk);
	u32 rtt_us = tcp_ackpol_rtt_us(sk);

	if (rtt_us && nla_put_u32(skb, TCP_ACKPOL_AUTO_A_RTT_US, rtt_us))
		return -EMSGSIZE;

	if (nla_put_u32(skb, TCP_ACKPOL_AUTO_A_INTERVAL_US, state->interval_us))
		return -EMSGSIZE;

	return 0;
}

static struct tcp_ackpol_ops tcp_auto __read_mostly = {
	.ack_delay_us	= tcp_auto_ack_delay_us,
	.data_recv	= tcp_auto_data_recv,
	.ack_sent	= tcp_auto_ack_sent,
	.get_info	= tcp_auto_get_info,
	.init		= tcp_auto_init,
	.params		= tcp_auto_param_list,
	.defaults	= (const int *)&tcp_auto_default,
	.nr_params	= ARRAY_SIZE(tcp_auto_param_list),
	.name		= "auto",
	.owner		= THIS_MODULE,
};

static int __init tcp_auto_register(void)
{
	TCP_ACKPOL_CHECK_PRIV(struct tcp_auto);
	TCP_ACKPOL_CHECK_PARAMS(tcp_auto_param_list, tcp_auto_default);

	return tcp_register_ackpol(&tcp_auto);
}

static void __exit tcp_auto_unregister(void)
{
	tcp_unregister_ackpol(&tcp_auto);
}

module_init(tcp_auto_register);
module_exit(tcp_auto_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP auto: fewer acknowledgments while data waits in queues");
MODULE_ALIAS_TCP_ACKPOL("auto");
