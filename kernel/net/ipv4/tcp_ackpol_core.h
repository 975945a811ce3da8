/* SPDX-License-Identifier: GPL-2.0-only */
/* Internal interface of the ACK policy framework */
#ifndef _TCP_ACKPOL_CORE_H
#define _TCP_ACKPOL_CORE_H

#include <net/tcp_ackpol.h>

#define TCP_ACKPOL_DEFAULT	"default"

/* Maximum number of parameters of all registered policies */
#define TCP_ACKPOL_PARAMS_MAX	64

/**
 * struct tcp_ackpol_net - the ACK policies of a network namespace
 * @net: the namespace
 * @list: entry in the list of namespaces
 * @ops: policy of new sockets, NULL for "default"; holds its module
 * @sysctl: the namespace's own sysctls
 * @params_sysctl: sysctls of each policy, at the index of its first parameter
 * @params: values of the parameters of all policies
 */
struct tcp_ackpol_net {
	struct net *net;
	struct list_head list;
	const struct tcp_ackpol_ops __rcu *ops;
	struct ctl_table_header *sysctl;
	struct ctl_table_header *params_sysctl[TCP_ACKPOL_PARAMS_MAX];
	int params[TCP_ACKPOL_PARAMS_MAX];
};

struct tcp_ackpol_net *tcp_ackpol_pernet(const struct net *net);
void tcp_ackpol_enable(bool may_sleep);

const struct tcp_ackpol_ops *tcp_ackpol_find(const char *name);
int tcp_ackpol_get(const char *name, bool load,
		   const struct tcp_ackpol_ops **ops);
int tcp_ackpol_attach(struct sock *sk, const struct tcp_ackpol_ops *ops);

/* Iterate under rcu_read_lock() */
extern struct list_head tcp_ackpol_list;

/* The name of a policy, or "default" for NULL */
static inline const char *tcp_ackpol_name(const struct tcp_ackpol_ops *ops)
{
	return ops ? ops->name : TCP_ACKPOL_DEFAULT;
}

/* Number of segments in a packet whose headers have been removed. Hypervisors
 * (virtio, tun, xen) pass on several as one packet, with their size only; if the
 * backlog merges such packets, it counts each as one segment.
 */
static inline u32 tcp_ackpol_skb_segs(const struct sk_buff *skb)
{
	const struct skb_shared_info *shinfo = skb_shinfo(skb);
	u32 segs = max_t(u32, shinfo->gso_segs, 1);

	if (!shinfo->gso_size)
		return segs;

	return max_t(u32, segs, DIV_ROUND_UP(skb->len, shinfo->gso_size));
}

/* Ensure that a timer of a socket fires no later than @expires.
 *
 * A queued timer holds a reference to the socket. So does a handler that runs on
 * another CPU and waits for the lock. While it runs, a timer that was queued
 * again meanwhile cannot be canceled; hrtimer_start() would move it, and it
 * might fire before or after that.
 *
 * Return: false in that last case.
 */
static inline bool __must_check
tcp_ackpol_timer_start(struct sock *sk, struct hrtimer *timer, ktime_t expires)
{
	int canceled;

	if (hrtimer_is_queued(timer) &&
	    !ktime_after(hrtimer_get_expires(timer), expires))
		return true;

	canceled = hrtimer_try_to_cancel(timer);
	if (canceled < 0 && hrtimer_is_queued(timer))
		return false;

	if (canceled != 1)
		sock_hold(sk);
	hrtimer_start(timer, expires, HRTIMER_MODE_ABS_PINNED_SOFT);
	return true;
}

#ifdef CONFIG_SYSCTL
int tcp_ackpol_sysctl_init(struct net *net);
void tcp_ackpol_sysctl_exit(struct net *net);
int tcp_ackpol_params_sysctl_init(struct net *net,
				  const struct tcp_ackpol_ops *ops);
void tcp_ackpol_params_sysctl_exit(struct net *net,
				   const struct tcp_ackpol_ops *ops);
#else
static inline int tcp_ackpol_sysctl_init(struct net *net)
{
	return 0;
}

static inline void tcp_ackpol_sysctl_exit(struct net *net)
{
}

static inline int
tcp_ackpol_params_sysctl_init(struct net *net, const struct tcp_ackpol_ops *ops)
{
	return 0;
}

static inline void
tcp_ackpol_params_sysctl_exit(struct net *net, const struct tcp_ackpol_ops *ops)
{
}
#endif

#endif /* _TCP_ACKPOL_CORE_H */
