/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM tcp_ackpol

#if !defined(_TRACE_TCP_ACKPOL_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_TCP_ACKPOL_H

#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <linux/tracepoint.h>
#include <net/tcp.h>
#include <net/tcp_ackpol.h>

TRACE_DEFINE_ENUM(TCP_ACKPOL_DELAYED);
TRACE_DEFINE_ENUM(TCP_ACKPOL_DELACKED);
TRACE_DEFINE_ENUM(TCP_ACKPOL_TIMER);
TRACE_DEFINE_ENUM(TCP_ACKPOL_POLICY);
TRACE_DEFINE_ENUM(TCP_ACKPOL_NOW);
TRACE_DEFINE_ENUM(TCP_ACKPOL_QUICK);
TRACE_DEFINE_ENUM(TCP_ACKPOL_FIN);
TRACE_DEFINE_ENUM(TCP_ACKPOL_WINDOW);

#define show_tcp_ackpol_reason(reason)			\
	__print_symbolic(reason,			\
		{ TCP_ACKPOL_DELAYED,	"delayed" },	\
		{ TCP_ACKPOL_DELACKED,	"delack" },	\
		{ TCP_ACKPOL_TIMER,	"timer" },	\
		{ TCP_ACKPOL_POLICY,	"policy" },	\
		{ TCP_ACKPOL_NOW,	"now" },	\
		{ TCP_ACKPOL_QUICK,	"quick" },	\
		{ TCP_ACKPOL_FIN,	"fin" },	\
		{ TCP_ACKPOL_WINDOW,	"window" })

/* One event per decision for a socket with a policy.
 *
 *   iat_us: time between the last two arrivals, -1 for the first
 *   ato_us: delay returned by the policy, 0 if it was not called,
 *	TCP_ACKPOL_DELACK for the delayed ACK timer, TCP_ACKPOL_AS_DEFAULT if TCP
 *	decides as without a policy
 *   segs: segments that the ACK acknowledges
 */
TRACE_EVENT(tcp_ackpol_decision,

	TP_PROTO(struct sock *sk, enum tcp_ackpol_reason reason, u32 ato_us),

	TP_ARGS(sk, reason, ato_us),

	TP_STRUCT__entry(
		__field(__u64, sock_cookie)
		__field(__s64, iat_us)
		__field(__u32, ato_us)
		__field(__u32, segs)
		__field(__u32, rcv_nxt)
		__field(__u16, sport)
		__field(__u16, dport)
		__field(__u16, family)
		__field(__u8, reason)
	),

	TP_fast_assign(
		const struct tcp_ackpol *ap = tcp_ackpol(sk);

		__entry->sock_cookie = sock_gen_cookie(sk);
		__entry->iat_us = ap->previous_us ?
				  (s64)tcp_ackpol_iat_us(ap) : -1LL;
		__entry->ato_us = ato_us;
		__entry->segs = ap->segs;
		__entry->rcv_nxt = tcp_sk(sk)->rcv_nxt;
		__entry->sport = ntohs(inet_sk(sk)->inet_sport);
		__entry->dport = ntohs(inet_sk(sk)->inet_dport);
		__entry->family = sk->sk_family;
		__entry->reason = reason;
	),

	TP_printk("family=%hu sport=%hu dport=%hu reason=%s iat_us=%lld ato_us=%u segs=%u rcv_nxt=%u sock_cookie=%llx",
		  __entry->family, __entry->sport, __entry->dport,
		  show_tcp_ackpol_reason(__entry->reason),
		  __entry->iat_us, __entry->ato_us, __entry->segs,
		  __entry->rcv_nxt, __entry->sock_cookie)
);

/* One event per ACK for all data received in order, whether sent by a policy, a
 * timer, due to out-of-order data or with data.
 *
 *   segs: segments received since the previous ACK
 *   waited_us: time since the first of them arrived, 0 if there is none
 */
TRACE_EVENT(tcp_ackpol_ack,

	TP_PROTO(struct sock *sk),

	TP_ARGS(sk),

	TP_STRUCT__entry(
		__field(__u64, sock_cookie)
		__field(__u64, waited_us)
		__field(__u32, segs)
		__field(__u32, rcv_nxt)
		__field(__u16, sport)
		__field(__u16, dport)
		__field(__u16, family)
	),

	TP_fast_assign(
		const struct tcp_ackpol *ap = tcp_ackpol(sk);

		__entry->sock_cookie = sock_gen_cookie(sk);
		__entry->waited_us = ap->segs ?
				     tcp_clock_us() - ap->first_us : 0;
		__entry->segs = ap->segs;
		__entry->rcv_nxt = tcp_sk(sk)->rcv_nxt;
		__entry->sport = ntohs(inet_sk(sk)->inet_sport);
		__entry->dport = ntohs(inet_sk(sk)->inet_dport);
		__entry->family = sk->sk_family;
	),

	TP_printk("family=%hu sport=%hu dport=%hu segs=%u waited_us=%llu rcv_nxt=%u sock_cookie=%llx",
		  __entry->family, __entry->sport, __entry->dport,
		  __entry->segs, __entry->waited_us,
		  __entry->rcv_nxt, __entry->sock_cookie)
);

#endif /* _TRACE_TCP_ACKPOL_H */

#include <trace/define_trace.h>
