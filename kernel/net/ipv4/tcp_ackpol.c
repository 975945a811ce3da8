// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pluggable TCP acknowledgment policies: decision and timer
 *
 *   data arrives --> data_recv() --> __tcp_ack_snd_check()
 *                                      |  out of order: as without a policy
 *                                      |  FIN, window, quick ACK mode: now
 *                                      v
 *                                    ack_delay_us() -- 0 --> now
 *                                      |     |-- DELACK --> delayed ACK timer
 *                                      |     '-- AS_DEFAULT --> without a policy
 *                                      v
 *        deadline = min(arrival + delay, tcp_ackpol_latest_us()), timer --> ACK
 *
 * Any ACK, pure or piggybacked, clears the deadline.
 *
 * The timer is compressed_ack_timer.  SACK compression uses it only while data
 * is missing, a policy only while none is.  The deadline moves with each
 * arrival and is cleared by each ACK, but a timer that is pending is not
 * reprogrammed: it may fire early, and its handler then restarts it for the
 * current deadline.  So a burst of segments programs the timer once, and not
 * once per segment.
 *
 * tcp_ackpol_registry.c selects the policy of a socket.
 * See Documentation/networking/tcp_ackpol.rst.
 */

#include <net/tcp.h>

#include "tcp_ackpol_core.h"

/* An ACK "MUST be generated within 500 ms of the arrival of the first
 * unacknowledged packet" (RFC 5681, 4.2), and the delay "MUST be less than 0.5
 * seconds" (RFC 1122, 4.2.3.2).
 */
#define TCP_ACKPOL_MAX_US	(499 * USEC_PER_MSEC)

/* A sender's probe timeout for several segments is two smoothed round trips,
 * and in Linux 2 ms, after the last one (RFC 8985, 7.2; TCP_TIMEOUT_MIN_US).
 * The path takes one round trip; this is half of the 2 ms.
 */
#define TCP_ACKPOL_PROBE_US	USEC_PER_MSEC

/* The latest time at which any policy may send the ACK:
 *
 * - tcp_delack_max() after the first segment, as for a delayed ACK.  This is
 *   less than the sender's minimum retransmission timeout.
 * - With more than one segment pending, a round trip and a millisecond after
 *   the last.  A sender's probe timeout allows for a delayed ACK if one segment
 *   is in flight, but not if several are.
 */
static u64 tcp_ackpol_latest_us(const struct sock *sk)
{
	struct tcp_ackpol *ap = tcp_ackpol(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt_us;

	if (!ap->bound_us) {
		ap->bound_us = ap->first_us +
			       min_t(u32, TCP_ACKPOL_MAX_US,
				     jiffies_to_usecs(tcp_delack_max(sk)));
		rtt_us = tcp_ackpol_rtt_us(sk);
		/* A segment that ends a silence echoes the timestamp of an ACK
		 * sent before, so the estimate may contain the silence.
		 */
		if (tp->srtt_us && ap->arrival_us - ap->resumed_us < rtt_us)
			rtt_us = min(rtt_us, tp->srtt_us >> 3);
		ap->probe_us = rtt_us + TCP_ACKPOL_PROBE_US;
	}
	if (ap->segs <= 1)
		return ap->bound_us;

	return min(ap->bound_us, ap->arrival_us + ap->probe_us);
}

static ktime_t tcp_ackpol_ktime(u64 us)
{
	return ns_to_ktime(us * NSEC_PER_USEC);
}

/* Ensure that the timer fires no later than the deadline.
 *
 * Return: false if it cannot: the ACK must be sent now.
 */
static bool tcp_ackpol_start_timer(struct sock *sk)
{
	return tcp_ackpol_timer_start(sk, &tcp_sk(sk)->compressed_ack_timer,
				      tcp_ackpol_ktime(tcp_ackpol(sk)->deadline_us));
}

/* Has the timer fired while the socket was locked? Then its handler waits for
 * the lock, or, as a process owns the socket, has left the work to
 * tcp_release_cb(). Both call __tcp_ackpol_expire().
 *
 * The handler sets the flag before it ends, so test the flag last.
 */
static bool tcp_ackpol_timer_fired(const struct sock *sk)
{
	return hrtimer_active(&tcp_sk(sk)->compressed_ack_timer) ||
	       test_bit(TCP_DELACK_TIMER_DEFERRED, &sk->sk_tsq_flags);
}

/*
 * With CONFIG_TCP_ACKPOL_DEBUG: a pending ACK must have a timer that fires
 * within the bound, or has just fired
 */
static void tcp_ackpol_check_bound(struct sock *sk)
{
	struct hrtimer *timer = &tcp_sk(sk)->compressed_ack_timer;
	const struct inet_connection_sock *icsk = inet_csk(sk);
	ktime_t latest;

	if (!IS_ENABLED(CONFIG_TCP_ACKPOL_DEBUG) || !tcp_ackpol(sk) ||
	    !inet_csk_ack_scheduled(sk))
		return;

	/* If there was no memory for the ACK, it waits for longer */
	if (icsk->icsk_ack.retry)
		return;

	latest = tcp_ackpol_ktime(tcp_ackpol_latest_us(sk));
	if (hrtimer_is_queued(timer)) {
		if (!ktime_after(hrtimer_get_expires(timer), latest))
			return;
	} else if (tcp_ackpol(sk)->deadline_us && tcp_ackpol_timer_fired(sk)) {
		return;
	}

	/* The delayed ACK timer counts jiffies, from the end of this one */
	WARN_ONCE(!(icsk->icsk_ack.pending & ICSK_ACK_TIMER) ||
		  time_after(icsk->icsk_ack.timeout,
			     jiffies + tcp_delack_max(sk)) ||
		  tcp_ackpol(sk)->segs > 1,
		  "TCP: ACK policy %s: no timer for %u segments since %lld us\n",
		  tcp_ackpol(sk)->ops->name, tcp_ackpol(sk)->segs,
		  tcp_clock_us() - tcp_ackpol(sk)->first_us);
}

/* The timer fired: send the ACK if one is pending and due */
void __tcp_ackpol_expire(struct sock *sk)
{
	struct tcp_ackpol *ap = tcp_ackpol(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	sock_owned_by_me(sk);
	if (!ap->deadline_us)
		return;

	/* A closed socket must not get a timer: nothing would stop it */
	if ((1 << sk->sk_state) & (TCPF_CLOSE | TCPF_LISTEN) ||
	    !inet_csk_ack_scheduled(sk)) {
		ap->deadline_us = 0;
		return;
	}

	tcp_mstamp_refresh(tp);
	if (tp->tcp_mstamp < ap->deadline_us && tcp_ackpol_start_timer(sk))
		return;

	ap->deadline_us = 0;

	/* No data was sent for the minimum delayed ACK timeout: not interactive
	 */
	if (tcp_jiffies32 - inet_csk(sk)->icsk_ack.lrcvtime >= TCP_ATO_MIN)
		inet_csk_exit_pingpong_mode(sk);

	tcp_send_ack(sk);
	__NET_INC_STATS(sock_net(sk), LINUX_MIB_DELAYEDACKS);
}

/* While data is missing SACK compression owns the timer */
void tcp_ackpol_yield_timer(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tp->compressed_ack &&
	    hrtimer_try_to_cancel(&tp->compressed_ack_timer) == 1)
		__sock_put(sk);
}

void __tcp_ackpol_data_recv(struct sock *sk, const struct sk_buff *skb)
{
	struct tcp_ackpol *ap = tcp_ackpol(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u64 now_us = tp->tcp_mstamp;
	u64 iat_us = now_us - ap->arrival_us;

	sock_owned_by_me(sk);
	/* Half of the round trip time, which is stored in eighths */
	if (iat_us * 16 >= tp->rcv_rtt_est.rtt_us)
		ap->resumed_us = now_us;
	ap->previous_us = ap->arrival_us;
	ap->arrival_us = now_us;
	if (!ap->segs) {
		ap->first_us = now_us;
		ap->bound_us = 0;
	}
	ap->segs += tcp_ackpol_skb_segs(skb);

	if (iat_us >= ap->gap_us && ap->ops->data_recv)
		ap->ops->data_recv(sk);
}

void __tcp_ackpol_ack_sent(struct sock *sk)
{
	struct tcp_ackpol *ap = tcp_ackpol(sk);

	/* Every segment with data carries an ACK */
	if (!ap->segs && !ap->deadline_us && !ap->settled)
		return;

	ap->deadline_us = 0;
	if (ap->ops->ack_sent)
		ap->ops->ack_sent(sk);

	ap->segs = 0;
	ap->first_us = 0;
	ap->settled = false;
}

/* Has the last segment repeated data in part, which no ACK has reported yet? The
 * next segment would overwrite the D-SACK (RFC 2883).
 */
static bool tcp_ackpol_owes_dsack(const struct tcp_sock *tp)
{
	return tp->rx_opt.dsack &&
	       !before(tp->duplicate_sack[0].end_seq, tp->rcv_wup);
}

/**
 * tcp_ackpol_window() - the window that the last ACK has advertised
 * @sk: socket
 *
 * Return: in bytes. tcp_sock.rcv_wnd may be more than the header can hold, see
 * tcp_select_window().
 */
u32 tcp_ackpol_window(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 max = (u32)U16_MAX << tp->rx_opt.rcv_wscale;

	if (!tp->rx_opt.rcv_wscale &&
	    READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_workaround_signed_windows))
		max = MAX_TCP_WINDOW;

	return min(tp->rcv_wnd, max);
}
EXPORT_SYMBOL_GPL(tcp_ackpol_window);

/* Would the sender run out of window if this ACK were delayed?
 *
 * Once half of the advertised window is used, send an ACK if it can offer at
 * least twice what is left: tcp_cleanup_rbuf() has the same rule for window
 * updates. With less than a segment left no more data can arrive.
 */
static bool tcp_ackpol_window_runs_out(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 window = tcp_ackpol_window(sk);
	u32 used = tp->rcv_nxt - tp->rcv_wup;
	u32 left = window - min(used, window);

	if (left < inet_csk(sk)->icsk_ack.rcv_mss)
		return true;

	return 2 * left <= window && __tcp_select_window(sk) >= 2 * left;
}

/* Does TCP require an immediate ACK for data in order?
 *
 * Return: the reason, or %TCP_ACKPOL_DELAYED if it does not.
 */
static enum tcp_ackpol_reason tcp_ackpol_immediate(struct sock *sk,
						   bool quickack)
{
	if (tcp_ackpol_owes_dsack(tcp_sk(sk)))
		return TCP_ACKPOL_NOW;

	if (inet_csk(sk)->icsk_ack.pending & ICSK_ACK_NOW)
		return TCP_ACKPOL_NOW;

	if (quickack)
		return TCP_ACKPOL_QUICK;

	if (sock_flag(sk, SOCK_DONE))
		return TCP_ACKPOL_FIN;

	if (tcp_ackpol_window_runs_out(sk))
		return TCP_ACKPOL_WINDOW;

	return TCP_ACKPOL_DELAYED;
}

/* Like a delayed ACK without a policy, that for a segment that was pushed is
 * sent when the segment is read
 */
static bool tcp_ackpol_ack_on_read(const struct sock *sk)
{
	return tcp_ackpol(sk)->delay_us == TCP_ACKPOL_DELACK &&
	       !tcp_ackpol_exceeds(sk, 1) &&
	       inet_csk(sk)->icsk_ack.pending &
	       (ICSK_ACK_PUSHED | ICSK_ACK_PUSHED2);
}

/* Call the policy, and start the timer if the ACK is delayed */
static enum tcp_ackpol_reason tcp_ackpol_ask(struct sock *sk)
{
	struct tcp_ackpol *ap = tcp_ackpol(sk);
	u64 latest_us;

	ap->busy = true;
	ap->delay_us = ap->ops->ack_delay_us(sk);
	ap->busy = false;
	ap->as_default = ap->delay_us == TCP_ACKPOL_AS_DEFAULT;
	if (ap->as_default) {
		inet_csk(sk)->icsk_ack.pending &= ~ICSK_ACK_POLICY;
		/* If the ACK has been delayed, the bound still applies */
		if (ap->deadline_us)
			ap->deadline_us = ap->bound_us;
		ap->settled = true;
		return TCP_ACKPOL_DELACKED;
	}

	if (!ap->delay_us)
		return TCP_ACKPOL_POLICY;

	latest_us = tcp_ackpol_latest_us(sk);
	if (latest_us <= ap->arrival_us)
		return TCP_ACKPOL_POLICY;

	if (tcp_ackpol_ack_on_read(sk))
		inet_csk(sk)->icsk_ack.pending &= ~ICSK_ACK_POLICY;
	else
		inet_csk(sk)->icsk_ack.pending |= ICSK_ACK_POLICY;

	if (ap->delay_us != TCP_ACKPOL_DELACK) {
		/* A delayed ACK timer of an earlier segment may be due before */
		inet_csk(sk)->icsk_ack.pending &= ~ICSK_ACK_TIMER;
		ap->deadline_us = min(ap->arrival_us + ap->delay_us, latest_us);
		return tcp_ackpol_start_timer(sk) ? TCP_ACKPOL_DELAYED :
						    TCP_ACKPOL_POLICY;
	}

	/* The delayed ACK timer ensures the bound for a single segment, if it
	 * starts now
	 */
	if (ap->segs > 1 || ap->deadline_us) {
		ap->deadline_us = latest_us;
		if (!tcp_ackpol_start_timer(sk))
			return TCP_ACKPOL_POLICY;
	}
	return TCP_ACKPOL_DELACKED;
}

/**
 * tcp_ackpol_ack_now() - decide on the ACK for data that arrived in order
 * @sk: socket with a policy and nothing in its out of order queue
 * @quickack: is the socket in quick ACK mode?
 *
 * Return: true if the ACK must be sent now. Otherwise it waits for a timer, or,
 * if tcp_ackpol_settled(), TCP decides.
 */
bool tcp_ackpol_ack_now(struct sock *sk, bool quickack)
{
	struct tcp_ackpol *ap = tcp_ackpol(sk);
	enum tcp_ackpol_reason reason;

	sock_owned_by_me(sk);
	ap->delay_us = 0;
	reason = tcp_ackpol_immediate(sk, quickack);
	if (reason == TCP_ACKPOL_DELAYED)
		reason = tcp_ackpol_ask(sk);

	if (ap->settled)
		return false;

	if (reason == TCP_ACKPOL_DELACKED)
		tcp_send_delayed_ack(sk);
	else if (reason != TCP_ACKPOL_DELAYED)
		return true;

	tcp_ackpol_check_bound(sk);
	return false;
}
