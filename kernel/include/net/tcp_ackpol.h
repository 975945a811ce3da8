/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pluggable TCP acknowledgment policies
 *
 * A policy decides how long the ACK for data that arrived in order is delayed.
 * It is the receiver's counterpart of struct tcp_congestion_ops. Policies are
 * not called where TCP acknowledges at once (out-of-order data, a filled hole,
 * FIN, quick ACK mode, ICSK_ACK_NOW, a nearly exhausted window), and no policy
 * can delay an ACK beyond tcp_ackpol_latest_us().
 *
 * See Documentation/networking/tcp_ackpol.rst.
 */
#ifndef _NET_TCP_ACKPOL_H
#define _NET_TCP_ACKPOL_H

#include <linux/build_bug.h>
#include <linux/jump_label.h>
#include <linux/tcp.h>
#include <net/inet_connection_sock.h>

struct module;
struct sk_buff;

/* Maximum length of a policy's name, including the terminating zero */
#define TCP_ACKPOL_NAME_MAX	16

/* Inter-arrival time of the first data of a connection */
#define TCP_ACKPOL_IAT_NONE	U32_MAX

/* Returned by a policy instead of a delay: use the delayed ACK timer, as
 * without a policy.
 */
#define TCP_ACKPOL_DELACK	U32_MAX

/* Acknowledge like TCP without a policy, until an ACK is sent. FIN and window
 * are tested before the policy is asked, but not on further arrivals.
 */
#define TCP_ACKPOL_AS_DEFAULT	(U32_MAX - 1)

/* Reason for an immediate ACK, or for a delay */
enum tcp_ackpol_reason {
	TCP_ACKPOL_DELAYED,	/* waits for the policy's timer */
	TCP_ACKPOL_DELACKED,	/* waits for the delayed ACK timer */
	TCP_ACKPOL_TIMER,	/* the policy's timer expired */
	TCP_ACKPOL_POLICY,	/* no delay according to policy or bound */
	TCP_ACKPOL_NOW,		/* ICSK_ACK_NOW: filled hole, ECN, memory */
	TCP_ACKPOL_QUICK,	/* quick ACK mode */
	TCP_ACKPOL_FIN,		/* FIN received */
	TCP_ACKPOL_WINDOW,	/* the window is nearly exhausted */
};

/**
 * struct tcp_ackpol - ACK policy of a socket, and its state
 * @ops: the policy
 * @arrival_us: time of the last arrival, 0 before the first
 * @previous_us: time of the arrival before, 0 if there was none
 * @resumed_us: time of the last arrival after half a round trip without one
 * @first_us: time at which the first of @segs arrived, 0 if there are none
 * @bound_us: latest time for the ACK of the first, 0 if not yet known
 * @deadline_us: time at which the ACK is due, 0 if the policy's timer is not
 *	used
 * @gap_us: data_recv() is called only after this long without arrivals; set by the
 *	policy, 0 for every arrival
 * @probe_us: time after the last segment at which a sender may probe, if there
 *	are several
 * @segs: segments received and not yet acknowledged
 * @delay_us: last return value of ack_delay_us()
 * @busy: a hook of the policy is running
 * @as_default: ack_delay_us() last returned %TCP_ACKPOL_AS_DEFAULT
 * @settled: it did so since the last ACK
 * @priv: private state of the policy
 * @rcu: for freeing
 *
 * Allocated when a policy is attached; sockets with "default" have none. Times
 * are in microseconds of tcp_clock_us().
 */
struct tcp_ackpol {
	const struct tcp_ackpol_ops *ops;
	u64	arrival_us;
	u64	previous_us;
	u64	resumed_us;
	u64	first_us;
	u64	bound_us;
	u64	deadline_us;
	u32	gap_us;
	u32	probe_us;
	u32	segs;
	u32	delay_us;
	bool	busy;
	bool	as_default;
	bool	settled;
	u64	priv[8];
	struct rcu_head rcu;
};

/**
 * struct tcp_ackpol_param - a parameter of a policy, per network namespace
 * @name: name of its sysctl in net.ipv4
 * @min: minimum
 * @max: maximum
 */
struct tcp_ackpol_param {
	const char *name;
	int min;
	int max;
};

/**
 * struct tcp_ackpol_ops - an ACK policy
 * @ack_delay_us: returns the delay of the ACK in microseconds after the last
 *	arrival; 0 sends it now, %TCP_ACKPOL_DELACK uses the delayed ACK timer,
 *	%TCP_ACKPOL_AS_DEFAULT lets TCP decide as without a policy, until an
 *	ACK is sent. Called for data that arrived in order, and for pure ACKs
 *	that arrive while it is not yet acknowledged, unless TCP acknowledges it
 *	at once. (required)
 * @data_recv: data arrived, in order or not. (optional)
 * @ack_sent: an ACK was sent, pure or piggybacked, the first since data
 *	arrived; tcp_ackpol.segs is reset afterwards. (optional)
 * @init: initialize the private state, which is zeroed. (optional)
 * @release: clean up the private state. (optional)
 * @params: parameters, in the order of @defaults (optional)
 * @defaults: their default values
 * @nr_params: number of parameters
 * @first_param: set by tcp_register_ackpol()
 * @name: name of the policy
 * @owner: its module
 * @list: entry in the list of registered policies
 *
 * All hooks run with the socket locked. They must not sleep, and not send.
 */
struct tcp_ackpol_ops {
	u32 (*ack_delay_us)(struct sock *sk);
	void (*data_recv)(struct sock *sk);
	void (*ack_sent)(struct sock *sk);

	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);

	const struct tcp_ackpol_param *params;
	const int *defaults;
	unsigned int nr_params;
	unsigned int first_param;

	char name[TCP_ACKPOL_NAME_MAX];
	struct module *owner;
	struct list_head list;
};

#define MODULE_ALIAS_TCP_ACKPOL(name) MODULE_ALIAS("tcp-ackpol-" name)

int tcp_register_ackpol(struct tcp_ackpol_ops *ops);
void tcp_unregister_ackpol(struct tcp_ackpol_ops *ops);
const void *tcp_ackpol_params(const struct sock *sk,
			      const struct tcp_ackpol_ops *ops);

/* A parameter in struct tcp_ackpol_ops, with the range of its sysctl */
#define TCP_ACKPOL_PARAM(_name, _min, _max)				\
	{ .name = _name, .min = _min, .max = _max }

/* Checks that the private state of a policy fits in struct tcp_ackpol */
#define TCP_ACKPOL_CHECK_PRIV(type)					\
	BUILD_BUG_ON(sizeof(type) > sizeof_field(struct tcp_ackpol, priv))

/* Checks that the parameters, a struct of int, match the registered list */
#define TCP_ACKPOL_CHECK_PARAMS(list, defaults)				\
	BUILD_BUG_ON(sizeof(defaults) != ARRAY_SIZE(list) * sizeof(int))

#ifdef CONFIG_TCP_ACKPOL

/* Enabled when a policy is first chosen */
DECLARE_STATIC_KEY_FALSE(tcp_ackpol_key);

/* Policy of a socket and its state, NULL for "default" */
static inline struct tcp_ackpol *tcp_ackpol(const struct sock *sk)
{
	return tcp_sk(sk)->ackpol;
}

static inline void *tcp_ackpol_priv(const struct sock *sk)
{
	return tcp_ackpol(sk)->priv;
}

/* Does the socket have a policy other than "default"? */
static inline bool tcp_ackpol_on(const struct sock *sk)
{
	return static_branch_unlikely(&tcp_ackpol_key) && tcp_ackpol(sk);
}

/* Are more than @segs full segments unacknowledged? TCP itself acknowledges
 * more than one.
 */
static inline bool tcp_ackpol_exceeds(const struct sock *sk, u32 segs)
{
	return tcp_sk(sk)->rcv_nxt - tcp_sk(sk)->rcv_wup >
	       (u64)inet_csk(sk)->icsk_ack.rcv_mss * segs;
}

/* The receiver's estimate of the round trip time, 0 if unknown.
 *
 * With timestamps, full-sized segments measure it. Without, it is the time in
 * which a window arrives, which may be many round trips; then the smoothed
 * round trip time of data sent by this end, at least of its handshake, counts
 * as well.
 */
static inline u32 tcp_ackpol_rtt_us(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt_us = tp->rcv_rtt_est.rtt_us;

	if (tp->srtt_us &&
	    (!rtt_us || (!tp->rx_opt.tstamp_ok && tp->srtt_us < rtt_us)))
		rtt_us = tp->srtt_us;

	return rtt_us >> 3;
}

u32 tcp_ackpol_window(const struct sock *sk);

/* Time between the last two arrivals, or %TCP_ACKPOL_IAT_NONE */
static inline u32 tcp_ackpol_iat_us(const struct tcp_ackpol *ap)
{
	if (!ap->previous_us)
		return TCP_ACKPOL_IAT_NONE;

	return min_t(u64, ap->arrival_us - ap->previous_us,
		     TCP_ACKPOL_IAT_NONE - 1);
}

/* Did the policy last leave the decision to TCP? */
static inline bool tcp_ackpol_as_default(const struct sock *sk)
{
	return tcp_ackpol(sk)->as_default;
}

/* Did it do so for the pending ACK? */
static inline bool tcp_ackpol_settled(const struct sock *sk)
{
	return tcp_ackpol(sk)->settled;
}

void tcp_ackpol_init(void);
void __tcp_ackpol_assign(struct sock *sk);
void __tcp_ackpol_assign_child(struct sock *sk);
void __tcp_ackpol_release(struct sock *sk);
void __tcp_ackpol_data_recv(struct sock *sk, const struct sk_buff *skb);
void __tcp_ackpol_ack_sent(struct sock *sk);
void __tcp_ackpol_expire(struct sock *sk);
void tcp_ackpol_yield_timer(struct sock *sk);
bool tcp_ackpol_ack_now(struct sock *sk, bool quickack);

/* A new socket, or one reused after tcp_disconnect() */
static inline void tcp_ackpol_assign(struct sock *sk)
{
	if (static_branch_unlikely(&tcp_ackpol_key))
		__tcp_ackpol_assign(sk);
}

/* An accepted socket, which is a copy of the listening one. The key may be in
 * the process of being enabled.
 */
static inline void tcp_ackpol_assign_child(struct sock *sk)
{
	if (static_branch_unlikely(&tcp_ackpol_key) || tcp_ackpol(sk))
		__tcp_ackpol_assign_child(sk);
}

/* The socket is destroyed, or a policy no longer applies to it */
static inline void tcp_ackpol_release(struct sock *sk)
{
	if (unlikely(tcp_ackpol(sk)))
		__tcp_ackpol_release(sk);
}

#else

static inline bool tcp_ackpol_on(const struct sock *sk)
{
	return false;
}

static inline void tcp_ackpol_init(void)
{
}

static inline bool tcp_ackpol_as_default(const struct sock *sk)
{
	return false;
}

static inline bool tcp_ackpol_settled(const struct sock *sk)
{
	return false;
}

static inline void tcp_ackpol_assign(struct sock *sk)
{
}

static inline void tcp_ackpol_assign_child(struct sock *sk)
{
}

static inline void tcp_ackpol_release(struct sock *sk)
{
}

static inline void __tcp_ackpol_data_recv(struct sock *sk,
					  const struct sk_buff *skb)
{
}

static inline void __tcp_ackpol_ack_sent(struct sock *sk)
{
}

static inline void __tcp_ackpol_expire(struct sock *sk)
{
}

static inline void tcp_ackpol_yield_timer(struct sock *sk)
{
}

static inline bool tcp_ackpol_ack_now(struct sock *sk, bool quickack)
{
	return false;
}

#endif /* CONFIG_TCP_ACKPOL */

/* Is an ACK delayed by the policy? Then reading does not send it */
static inline bool tcp_ackpol_holds_ack(const struct sock *sk)
{
	return tcp_ackpol_on(sk) &&
	       inet_csk(sk)->icsk_ack.pending & ICSK_ACK_POLICY;
}

/* Does the policy replace the rules of two full segments and of a growing
 * window?
 */
static inline bool tcp_ackpol_replaces_rules(const struct sock *sk)
{
	return tcp_ackpol_on(sk) && !tcp_ackpol_as_default(sk);
}

/* Data arrived, in order or not, at tcp_mstamp */
static inline void tcp_ackpol_data_recv(struct sock *sk,
					const struct sk_buff *skb)
{
	if (tcp_ackpol_on(sk))
		__tcp_ackpol_data_recv(sk, skb);
}

/* An ACK for all data received in order is sent */
static inline void tcp_ackpol_ack_sent(struct sock *sk)
{
	if (tcp_ackpol_on(sk))
		__tcp_ackpol_ack_sent(sk);
}

/* compressed_ack_timer fired for the policy */
static inline void tcp_ackpol_expire(struct sock *sk)
{
	if (tcp_ackpol_on(sk))
		__tcp_ackpol_expire(sk);
}

#endif /* _NET_TCP_ACKPOL_H */
