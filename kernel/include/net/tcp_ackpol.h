/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pluggable TCP acknowledgment policies
 *
 * A policy decides how long the ACK for data that arrived in order may wait.
 * It is the receiver's twin of struct tcp_congestion_ops.  What TCP demands at
 * once (data out of order, a filled hole, FIN, quick ACK mode, ICSK_ACK_NOW, a
 * window that runs out) never reaches a policy.
 *
 * See Documentation/networking/tcp_ackpol.rst.
 */
#ifndef _NET_TCP_ACKPOL_H
#define _NET_TCP_ACKPOL_H

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/module.h>
#include <linux/tcp.h>
#include <uapi/linux/tcp_ackpol.h>

struct ctl_table;
struct ctl_table_header;
struct dst_entry;
struct net;
struct sk_buff;

#define TCP_ACKPOL_BUF_MAX	256

/* Inter-arrival time of a connection's first data */
#define TCP_ACKPOL_IAT_NONE	U32_MAX

/* What a policy may answer instead of a delay: when Linux' own timer for
 * delayed ACKs says
 */
#define TCP_ACKPOL_DELACK	U32_MAX

/* Why an ACK left at once, or that it waits */
enum tcp_ackpol_reason {
	TCP_ACKPOL_DELAYED,	/* it waits for the policy's timer */
	TCP_ACKPOL_DELACKED,	/* it waits for Linux' own timer */
	TCP_ACKPOL_TIMER,	/* the policy's timer expired */
	TCP_ACKPOL_POLICY,	/* the policy wants no delay */
	TCP_ACKPOL_NOW,		/* ICSK_ACK_NOW: filled hole, ECN, memory */
	TCP_ACKPOL_QUICK,	/* quick ACK mode */
	TCP_ACKPOL_FIN,		/* the peer sends no more */
	TCP_ACKPOL_WINDOW,	/* the advertised window runs out */
};

/* The policy keeps Linux' rules beside its own: reading acknowledges two full
 * segments, and a growing receive window asks for an ACK.
 */
#define TCP_ACKPOL_F_LINUX_RULES	BIT(0)

/* The policy acknowledges each segment anyway, so it decides in quick ACK mode
 * too.
 */
#define TCP_ACKPOL_F_QUICK		BIT(1)

/**
 * struct tcp_ackpol_ops - an ACK policy
 * @ack_delay_us: how long the ACK may wait, in microseconds after the last
 *	arrival; 0 sends it now, %TCP_ACKPOL_DELACK leaves it to Linux' timer.
 *	Called for data that arrived in order and that nothing else
 *	acknowledges. (required)
 * @data_recv: data arrived, in order or not. tcp_sock.ackpol has the segments
 *	not yet acknowledged, the time of arrival and the inter-arrival time.
 *	(optional)
 * @ack_due: the ACK for data that arrived in order leaves next, without having
 *	waited; the policy may send others before it. (optional)
 * @ack_sent: an ACK left, pure or piggy-backed; tcp_sock.ackpol.segs still has
 *	what it covers. (optional)
 * @timer: the delay is over. Returns for how many microseconds the ACK is to
 *	wait on; after 0 it leaves. (optional)
 * @get_info: tell the state of the policy; @info is zeroed. (optional)
 * @init: prepare the private state, which is zeroed. (optional)
 * @release: clean up the private state. (optional)
 * @flags: TCP_ACKPOL_F_...
 * @key: filled in by tcp_register_ackpol()
 * @name: what users call it
 * @owner: the module
 * @list: registered policies
 *
 * Every hook runs with the socket locked and must not sleep.
 */
struct tcp_ackpol_ops {
	u32 (*ack_delay_us)(struct sock *sk);
	void (*data_recv)(struct sock *sk);
	void (*ack_due)(struct sock *sk, enum tcp_ackpol_reason reason);
	void (*ack_sent)(struct sock *sk);
	u32 (*timer)(struct sock *sk);
	u32 flags;

	void (*get_info)(const struct sock *sk, union tcp_ackpol_state *info);
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);

	u32 key;
	char name[TCP_ACKPOL_NAME_MAX];
	struct module *owner;
	struct list_head list;
};

#define MODULE_ALIAS_TCP_ACKPOL(name) MODULE_ALIAS("tcp-ackpol-" name)

int tcp_register_ackpol(struct tcp_ackpol_ops *ops);
void tcp_unregister_ackpol(struct tcp_ackpol_ops *ops);

/* For policies */
bool tcp_ackpol_exceeds(const struct sock *sk, u32 segs);
struct ctl_table_header *
tcp_ackpol_register_sysctl(struct net *net, const struct ctl_table *table,
			   size_t size, void *values);
void tcp_ackpol_unregister_sysctl(struct ctl_table_header *header);

/* A parameter of type int, a member of @type, for tcp_ackpol_register_sysctl().
 * @least and @most point to the bounds.
 */
#define TCP_ACKPOL_SYSCTL(name, type, member, least, most) {		\
	.procname	= name,						\
	.data		= (void *)offsetof(type, member),		\
	.maxlen		= sizeof(int),					\
	.mode		= 0644,						\
	.proc_handler	= proc_dointvec_minmax,				\
	.extra1		= least,					\
	.extra2		= most,						\
}

/* A policy checks the size of its state with TCP_ACKPOL_CHECK_PRIV(type) */
#define TCP_ACKPOL_CHECK_PRIV(type)					\
	BUILD_BUG_ON(sizeof(type) >					\
		     sizeof_field(struct tcp_sock, ackpol.priv))

#ifdef CONFIG_TCP_ACKPOL
static inline void *tcp_ackpol_priv(const struct sock *sk)
{
	return (void *)tcp_sk(sk)->ackpol.priv;
}
#endif

/* The hooks of TCP; see tcp_ackpol.c */
void tcp_ackpol_init(void);
void __tcp_ackpol_assign(struct sock *sk);
void __tcp_ackpol_assign_child(struct sock *sk);
void __tcp_ackpol_assign_route(struct sock *sk, const struct dst_entry *dst);
void __tcp_ackpol_release(struct sock *sk);
void __tcp_ackpol_cancel(struct sock *sk);
void __tcp_ackpol_data_recv(struct sock *sk, const struct sk_buff *skb);
void __tcp_ackpol_ack_sent(struct sock *sk);
void __tcp_ackpol_deferred(struct sock *sk);
bool tcp_ackpol_ack_now(struct sock *sk, bool quickack);

int tcp_ackpol_set(struct sock *sk, const char *name, bool load, bool cap);
void tcp_ackpol_name(const struct sock *sk, char name[TCP_ACKPOL_NAME_MAX]);
int tcp_ackpol_put_info(struct sock *sk, struct sk_buff *skb);
size_t tcp_ackpol_info_size(void);

#ifdef CONFIG_TCP_ACKPOL
u32 tcp_ackpol_get_key(const char *name);
char *tcp_ackpol_get_name(u32 key, char name[TCP_ACKPOL_NAME_MAX]);
#else
static inline u32 tcp_ackpol_get_key(const char *name)
{
	return 0;
}

static inline char *tcp_ackpol_get_name(u32 key,
					char name[TCP_ACKPOL_NAME_MAX])
{
	return NULL;
}
#endif

/* Does the socket have a policy other than "default"? */
static inline bool tcp_ackpol_on(const struct sock *sk)
{
#ifdef CONFIG_TCP_ACKPOL
	return unlikely(tcp_sk(sk)->ackpol_ops);
#else
	return false;
#endif
}

/* Does the socket's policy take the place of Linux' rules? */
static inline bool tcp_ackpol_rules(const struct sock *sk)
{
#ifdef CONFIG_TCP_ACKPOL
	return tcp_ackpol_on(sk) && !(tcp_sk(sk)->ackpol_ops->flags &
				      TCP_ACKPOL_F_LINUX_RULES);
#else
	return false;
#endif
}

static inline void tcp_ackpol_assign(struct sock *sk)
{
	if (IS_ENABLED(CONFIG_TCP_ACKPOL))
		__tcp_ackpol_assign(sk);
}

static inline void tcp_ackpol_assign_child(struct sock *sk)
{
	if (IS_ENABLED(CONFIG_TCP_ACKPOL))
		__tcp_ackpol_assign_child(sk);
}

static inline void tcp_ackpol_assign_route(struct sock *sk,
					   const struct dst_entry *dst)
{
	if (IS_ENABLED(CONFIG_TCP_ACKPOL))
		__tcp_ackpol_assign_route(sk, dst);
}

static inline void tcp_ackpol_release(struct sock *sk)
{
	if (tcp_ackpol_on(sk))
		__tcp_ackpol_release(sk);
}

static inline void tcp_ackpol_cancel(struct sock *sk)
{
	if (tcp_ackpol_on(sk))
		__tcp_ackpol_cancel(sk);
}

static inline void tcp_ackpol_data_recv(struct sock *sk,
					const struct sk_buff *skb)
{
	if (tcp_ackpol_on(sk))
		__tcp_ackpol_data_recv(sk, skb);
}

static inline void tcp_ackpol_ack_sent(struct sock *sk)
{
	if (tcp_ackpol_on(sk))
		__tcp_ackpol_ack_sent(sk);
}

static inline void tcp_ackpol_deferred(struct sock *sk)
{
	if (tcp_ackpol_on(sk))
		__tcp_ackpol_deferred(sk);
}

#endif /* _NET_TCP_ACKPOL_H */
