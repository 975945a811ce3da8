/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pluggable TCP acknowledgment policies
 *
 * A policy decides how long the ACK for data that arrived in order may wait.
 * It is the receiver's twin of struct tcp_congestion_ops.  What TCP
 * acknowledges at once (data out of order, a filled hole, FIN, quick ACK mode,
 * ICSK_ACK_NOW, a window that runs out) never reaches a policy, and no policy
 * can delay an ACK for longer than tcp_ackpol_latest_us() allows.
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

/* Length of a policy's name, with the terminating zero */
#define TCP_ACKPOL_NAME_MAX	16

/* Inter-arrival time of a connection's first data */
#define TCP_ACKPOL_IAT_NONE	U32_MAX

/* What a policy may return instead of a delay: the ACK waits for the delayed
 * ACK timer, as it would without a policy.
 */
#define TCP_ACKPOL_DELACK	U32_MAX

/* Why an ACK was sent at once, or that it waits */
enum tcp_ackpol_reason {
	TCP_ACKPOL_DELAYED,	/* it waits for the policy's timer */
	TCP_ACKPOL_DELACKED,	/* it waits for the delayed ACK timer */
	TCP_ACKPOL_TIMER,	/* the policy's timer expired */
	TCP_ACKPOL_POLICY,	/* the policy, or the bound, allows no delay */
	TCP_ACKPOL_NOW,		/* ICSK_ACK_NOW: filled hole, ECN, memory */
	TCP_ACKPOL_QUICK,	/* quick ACK mode */
	TCP_ACKPOL_FIN,		/* the peer sends no more */
	TCP_ACKPOL_WINDOW,	/* the advertised window runs out */
};

/**
 * struct tcp_ackpol - a socket's ACK policy, and the state it needs
 * @ops: the policy
 * @arrival_us: when the last data arrived, 0 before the first
 * @first_us: when the first of @segs arrived, 0 if there are none
 * @deadline_us: when the ACK is due, 0 if none waits for the policy's timer
 * @iat_us: time between the last two arrivals, or %TCP_ACKPOL_IAT_NONE
 * @segs: segments received and not yet acknowledged
 * @delay_us: what the policy last returned
 * @busy: a hook of the policy is running
 * @priv: the policy's own
 * @rcu: frees it
 *
 * It is allocated when a policy is attached; sockets with "default" have none.
 * All times are in microseconds, of tcp_clock_us().
 */
struct tcp_ackpol {
	const struct tcp_ackpol_ops *ops;
	u64	arrival_us;
	u64	first_us;
	u64	deadline_us;
	u32	iat_us;
	u32	segs;
	u32	delay_us;
	bool	busy;
	u64	priv[8];
	struct rcu_head rcu;
};

/**
 * struct tcp_ackpol_param - a parameter of a policy, per network namespace
 * @name: name of its sysctl in net.ipv4
 * @min: least value allowed
 * @max: greatest value allowed
 */
struct tcp_ackpol_param {
	const char *name;
	int min;
	int max;
};

/**
 * struct tcp_ackpol_ops - an ACK policy
 * @ack_delay_us: how long the ACK may wait, in microseconds after the last
 *	arrival; 0 sends it now, %TCP_ACKPOL_DELACK leaves it to the delayed ACK
 *	timer. Called for data that arrived in order and that nothing else
 *	acknowledges. (required)
 * @data_recv: data arrived, in order or not. (optional)
 * @ack_sent: an ACK was sent, pure or piggy-backed; tcp_ackpol.segs still has
 *	what it covers. (optional)
 * @init: prepare the private state, which is zeroed. (optional)
 * @release: clean up the private state. (optional)
 * @params: parameters, in the order of @defaults (optional)
 * @defaults: their default values
 * @nr_params: how many there are
 * @first_param: filled in by tcp_register_ackpol()
 * @name: what users call it
 * @owner: the module
 * @list: registered policies
 *
 * Every hook runs with the socket locked, must not sleep and must not send.
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

/* A parameter of struct tcp_ackpol_ops, with the bounds of its sysctl */
#define TCP_ACKPOL_PARAM(_name, _min, _max)				\
	{ .name = _name, .min = _min, .max = _max }

/* A policy checks the size of its state with TCP_ACKPOL_CHECK_PRIV(type) */
#define TCP_ACKPOL_CHECK_PRIV(type)					\
	BUILD_BUG_ON(sizeof(type) > sizeof_field(struct tcp_ackpol, priv))

/* and that its parameters, a struct of int, are those that it registers */
#define TCP_ACKPOL_CHECK_PARAMS(list, defaults)				\
	BUILD_BUG_ON(sizeof(defaults) != ARRAY_SIZE(list) * sizeof(int))

#ifdef CONFIG_TCP_ACKPOL

/* Enabled when a policy is chosen for the first time */
DECLARE_STATIC_KEY_FALSE(tcp_ackpol_key);

/* The socket's policy and its state, NULL for "default" */
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

/* Do more than @segs full segments wait for their ACK?  TCP itself
 * acknowledges more than one.
 */
static inline bool tcp_ackpol_exceeds(const struct sock *sk, u32 segs)
{
	return tcp_sk(sk)->rcv_nxt - tcp_sk(sk)->rcv_wup >
	       (u64)inet_csk(sk)->icsk_ack.rcv_mss * segs;
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

/* A new socket, or one that starts anew after tcp_disconnect() */
static inline void tcp_ackpol_assign(struct sock *sk)
{
	if (static_branch_unlikely(&tcp_ackpol_key))
		__tcp_ackpol_assign(sk);
}

/* An accepted socket, which is a copy of the listening one.  The key may be
 * about to be enabled.
 */
static inline void tcp_ackpol_assign_child(struct sock *sk)
{
	if (static_branch_unlikely(&tcp_ackpol_key) || tcp_ackpol(sk))
		__tcp_ackpol_assign_child(sk);
}

/* The socket goes, or a policy does not apply to it any more */
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

/* Does an ACK wait because the policy lets it?  Then reading does not send it */
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
	return tcp_ackpol_on(sk);
}

/* Data arrived, in order or not; tcp_mstamp is its time of arrival */
static inline void tcp_ackpol_data_recv(struct sock *sk,
					const struct sk_buff *skb)
{
	if (tcp_ackpol_on(sk))
		__tcp_ackpol_data_recv(sk, skb);
}

/* An ACK of all that was received is being sent */
static inline void tcp_ackpol_ack_sent(struct sock *sk)
{
	if (tcp_ackpol_on(sk))
		__tcp_ackpol_ack_sent(sk);
}

/* compressed_ack_timer fired, and not for SACK compression */
static inline void tcp_ackpol_expire(struct sock *sk)
{
	if (tcp_ackpol_on(sk))
		__tcp_ackpol_expire(sk);
}

#endif /* _NET_TCP_ACKPOL_H */
