// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pluggable TCP acknowledgment policies
 *
 * Registry, choice per network namespace, and the one high-resolution timer a
 * socket has for an ACK that waits:
 *
 *   data arrives --> data_recv() --> __tcp_ack_snd_check()
 *                                      |  out of order: as Linux always did
 *                                      |  ACK demanded: now
 *                                      v
 *                                    ack_delay_us() -- 0 --> now
 *                                      |
 *                                      v
 *                     deadline = arrival + delay, timer --> ACK
 *
 * Any ACK that leaves, pure or piggy-backed, forgets the deadline.
 *
 * A socket with the policy "default" has no ops at all, and every hook in TCP
 * is one test of that pointer.
 *
 * The deadline moves with each arrival, the hrtimer does not: it is left to
 * fire early, and its handler waits on for what is then the deadline.  So a
 * burst of segments programs the timer once, not once a segment.
 *
 * See Documentation/networking/tcp_ackpol.rst.
 */

#include <linux/sysctl.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/tcp.h>

#define CREATE_TRACE_POINTS
#include <trace/events/tcp_ackpol.h>

#define TCP_ACKPOL_DEFAULT	"default"

struct tcp_ackpol_net {
	/* Policy of new sockets, NULL for "default"; holds its module */
	const struct tcp_ackpol_ops __rcu *ops;
	struct ctl_table_header *sysctl;
};

static unsigned int tcp_ackpol_net_id __read_mostly;
static DEFINE_SPINLOCK(tcp_ackpol_list_lock);
static LIST_HEAD(tcp_ackpol_list);

static struct tcp_ackpol_net *tcp_ackpol_pernet(const struct net *net)
{
	return net_generic(net, tcp_ackpol_net_id);
}

static struct tcp_ackpol_ops *tcp_ackpol_find(const char *name)
{
	struct tcp_ackpol_ops *ops;

	list_for_each_entry_rcu(ops, &tcp_ackpol_list, list,
				lockdep_is_held(&tcp_ackpol_list_lock)) {
		if (!strcmp(ops->name, name))
			return ops;
	}

	return NULL;
}

/**
 * tcp_register_ackpol() - make an ACK policy available
 * @ops: the policy
 *
 * Return: 0, -EINVAL if @ops lacks a required hook or a name, -EEXIST if the
 * name is taken.
 */
int tcp_register_ackpol(struct tcp_ackpol_ops *ops)
{
	int ret = 0;

	if (!ops->ack_delay_us || !ops->name[0])
		return -EINVAL;

	if (!strcmp(ops->name, TCP_ACKPOL_DEFAULT))
		return -EEXIST;

	spin_lock(&tcp_ackpol_list_lock);
	if (tcp_ackpol_find(ops->name))
		ret = -EEXIST;
	else
		list_add_tail_rcu(&ops->list, &tcp_ackpol_list);
	spin_unlock(&tcp_ackpol_list_lock);

	return ret;
}
EXPORT_SYMBOL_GPL(tcp_register_ackpol);

/**
 * tcp_unregister_ackpol() - take an ACK policy away
 * @ops: the policy
 *
 * Sockets and namespaces that use a policy hold its module, so there are none
 * when its module exits.
 */
void tcp_unregister_ackpol(struct tcp_ackpol_ops *ops)
{
	spin_lock(&tcp_ackpol_list_lock);
	list_del_rcu(&ops->list);
	spin_unlock(&tcp_ackpol_list_lock);

	/* Someone may have found it and not yet tried to hold its module */
	synchronize_rcu();
}
EXPORT_SYMBOL_GPL(tcp_unregister_ackpol);

/* Make sure that the timer fires no later than the deadline.
 *
 * Return: false if it cannot be moved, as its handler runs on another CPU at
 * this moment.  An ACK is just due then, and sending one is never wrong.
 */
static bool tcp_ackpol_arm(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct hrtimer *timer = &tp->ackpol.timer;
	ktime_t expires = ns_to_ktime(tp->ackpol.deadline_us * NSEC_PER_USEC);

	if (hrtimer_is_queued(timer) &&
	    !ktime_after(hrtimer_get_expires(timer), expires))
		return true;

	switch (hrtimer_try_to_cancel(timer)) {
	case 0:
		sock_hold(sk);
		break;
	case -1:
		return false;
	}

	hrtimer_start(timer, expires, HRTIMER_MODE_ABS_PINNED_SOFT);
	return true;
}

/* The deadline has passed: send the ACK, if one is still to be sent */
static void tcp_ackpol_expire(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct tcp_ackpol_ops *ops = tp->ackpol_ops;

	tp->ackpol.deadline_us = 0;
	if ((1 << sk->sk_state) & (TCPF_CLOSE | TCPF_LISTEN) ||
	    !inet_csk_ack_scheduled(sk))
		return;

	/* Nothing went back while the ACK waited: not interactive */
	inet_csk_exit_pingpong_mode(sk);

	trace_tcp_ackpol_decision(sk, TCP_ACKPOL_TIMER, 0);
	if (ops->timer)
		ops->timer(sk);

	tcp_send_ack(sk);
	__NET_INC_STATS(sock_net(sk), LINUX_MIB_DELAYEDACKS);
	__NET_INC_STATS(sock_net(sk), LINUX_MIB_TCPACKPOLTIMER);
}

static enum hrtimer_restart tcp_ackpol_kick(struct hrtimer *timer)
{
	struct tcp_sock *tp = container_of(timer, struct tcp_sock,
					   ackpol.timer);
	enum hrtimer_restart restart = HRTIMER_NORESTART;
	struct sock *sk = (struct sock *)tp;

	bh_lock_sock(sk);
	if (sock_owned_by_user(sk)) {
		/* tcp_release_cb() comes back by way of
		 * tcp_delack_timer_handler()
		 */
		if (!test_and_set_bit(TCP_DELACK_TIMER_DEFERRED,
				      &sk->sk_tsq_flags))
			sock_hold(sk);
	} else if (tp->ackpol.deadline_us) {
		tcp_mstamp_refresh(tp);
		if (tp->tcp_mstamp < tp->ackpol.deadline_us) {
			hrtimer_set_expires(timer,
					    ns_to_ktime(tp->ackpol.deadline_us *
							NSEC_PER_USEC));
			restart = HRTIMER_RESTART;
		} else {
			tcp_ackpol_expire(sk);
		}
	}
	bh_unlock_sock(sk);

	if (restart == HRTIMER_NORESTART)
		sock_put(sk);

	return restart;
}

/* The timer fired while the socket was owned by the user */
void __tcp_ackpol_deferred(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tp->ackpol.deadline_us)
		return;

	tcp_mstamp_refresh(tp);
	if (tp->tcp_mstamp < tp->ackpol.deadline_us && tcp_ackpol_arm(sk))
		return;

	tcp_ackpol_expire(sk);
}

void __tcp_ackpol_cancel(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->ackpol.deadline_us = 0;
	if (hrtimer_try_to_cancel(&tp->ackpol.timer) == 1)
		__sock_put(sk);
}

/* Give a new socket the policy of its network namespace */
void __tcp_ackpol_assign(struct sock *sk)
{
	const struct tcp_ackpol_ops *ops;
	struct tcp_sock *tp = tcp_sk(sk);

	/* An accepted socket starts as a copy of the listening one */
	tp->ackpol_ops = NULL;
	memset(&tp->ackpol, 0, sizeof(tp->ackpol));

	rcu_read_lock();
	ops = rcu_dereference(tcp_ackpol_pernet(sock_net(sk))->ops);
	if (ops && try_module_get(ops->owner))
		tp->ackpol_ops = ops;
	rcu_read_unlock();

	if (!tp->ackpol_ops)
		return;

	hrtimer_init(&tp->ackpol.timer, CLOCK_MONOTONIC,
		     HRTIMER_MODE_ABS_PINNED_SOFT);
	tp->ackpol.timer.function = tcp_ackpol_kick;
	if (ops->init)
		ops->init(sk);
}

void __tcp_ackpol_release(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct tcp_ackpol_ops *ops = tp->ackpol_ops;

	__tcp_ackpol_cancel(sk);
	if (ops->release)
		ops->release(sk);
	tp->ackpol_ops = NULL;
	module_put(ops->owner);
}

/* Data arrived, in order or not; tcp_mstamp is its time of arrival */
void __tcp_ackpol_data_recv(struct sock *sk, const struct sk_buff *skb)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct tcp_ackpol_ops *ops = tp->ackpol_ops;
	u64 now = tp->tcp_mstamp;

	tp->ackpol.iat_us = TCP_ACKPOL_IAT_NONE;
	if (tp->ackpol.arrival_us)
		tp->ackpol.iat_us = min_t(u64, now - tp->ackpol.arrival_us,
					  TCP_ACKPOL_IAT_NONE - 1);
	tp->ackpol.arrival_us = now;
	tp->ackpol.segs += max_t(u16, 1, skb_shinfo(skb)->gso_segs);

	if (ops->data_recv)
		ops->data_recv(sk);
}

void __tcp_ackpol_ack_sent(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct tcp_ackpol_ops *ops = tp->ackpol_ops;

	__tcp_ackpol_cancel(sk);
	tp->ackpol.segs = 0;

	if (ops->ack_sent)
		ops->ack_sent(sk);
}

/* Will the sender soon be short of window if this ACK waits?
 *
 * Once half of what was advertised is used up, an ACK that offers at least
 * twice what is left leaves now: tcp_cleanup_rbuf() has the same rule for a
 * window update.  With less than a segment left no more can come.
 */
static bool tcp_ackpol_window_runs_out(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 left = tcp_receive_window(tp);

	if (left < inet_csk(sk)->icsk_ack.rcv_mss)
		return true;

	return 2 * left <= tp->rcv_wnd && __tcp_select_window(sk) >= 2 * left;
}

/**
 * tcp_ackpol_ack_now() - decide on the ACK for data that arrived in order
 * @sk: socket with a policy and nothing in its out of order queue
 * @quickack: is the socket in quick ACK mode?
 *
 * Return: true if the ACK is to be sent now, false if it waits for the timer.
 */
bool tcp_ackpol_ack_now(struct sock *sk, bool quickack)
{
	enum tcp_ackpol_reason reason = TCP_ACKPOL_DELAYED;
	struct tcp_sock *tp = tcp_sk(sk);
	u32 delay_us = 0;

	if (inet_csk(sk)->icsk_ack.pending & ICSK_ACK_NOW) {
		reason = TCP_ACKPOL_NOW;
	} else if (quickack) {
		reason = TCP_ACKPOL_QUICK;
	} else if (sk->sk_shutdown & RCV_SHUTDOWN) {
		reason = TCP_ACKPOL_FIN;
	} else if (tcp_ackpol_window_runs_out(sk)) {
		reason = TCP_ACKPOL_WINDOW;
	} else {
		delay_us = tp->ackpol_ops->ack_delay_us(sk);
		tp->ackpol.deadline_us = tp->ackpol.arrival_us + delay_us;
		if (!delay_us || !tcp_ackpol_arm(sk))
			reason = TCP_ACKPOL_POLICY;
	}

	trace_tcp_ackpol_decision(sk, reason, delay_us);
	if (reason == TCP_ACKPOL_DELAYED) {
		NET_INC_STATS(sock_net(sk), LINUX_MIB_TCPACKPOLDELAYED);
		return false;
	}
	NET_INC_STATS(sock_net(sk), LINUX_MIB_TCPACKPOLIMMEDIATE);
	return true;
}

#ifdef CONFIG_SYSCTL
static int tcp_ackpol_set(struct net *net, const char *name)
{
	const struct tcp_ackpol_ops *ops = NULL, *prev;

	if (strcmp(name, TCP_ACKPOL_DEFAULT)) {
		rcu_read_lock();
		ops = tcp_ackpol_find(name);
#ifdef CONFIG_MODULES
		if (!ops && capable(CAP_NET_ADMIN)) {
			rcu_read_unlock();
			request_module("tcp-ackpol-%s", name);
			rcu_read_lock();
			ops = tcp_ackpol_find(name);
		}
#endif
		if (ops && !try_module_get(ops->owner))
			ops = NULL;
		rcu_read_unlock();
		if (!ops)
			return -ENOENT;
	}

	prev = unrcu_pointer(xchg(&tcp_ackpol_pernet(net)->ops,
				  RCU_INITIALIZER(ops)));
	if (prev)
		module_put(prev->owner);
	return 0;
}

static int proc_tcp_ack_policy(const struct ctl_table *ctl, int write,
			       void *buffer, size_t *lenp, loff_t *ppos)
{
	struct net *net = ctl->data;
	char name[TCP_ACKPOL_NAME_MAX];
	struct ctl_table table = {
		.data = name,
		.maxlen = sizeof(name),
	};
	const struct tcp_ackpol_ops *ops;
	int ret;

	rcu_read_lock();
	ops = rcu_dereference(tcp_ackpol_pernet(net)->ops);
	strscpy(name, ops ? ops->name : TCP_ACKPOL_DEFAULT);
	rcu_read_unlock();

	ret = proc_dostring(&table, write, buffer, lenp, ppos);
	if (write && !ret)
		ret = tcp_ackpol_set(net, name);
	return ret;
}

static int proc_tcp_available_ack_policies(const struct ctl_table *ctl,
					   int write, void *buffer,
					   size_t *lenp, loff_t *ppos)
{
	char names[TCP_ACKPOL_BUF_MAX] = TCP_ACKPOL_DEFAULT;
	struct ctl_table table = {
		.data = names,
		.maxlen = sizeof(names),
	};
	size_t len = strlen(names);
	struct tcp_ackpol_ops *ops;

	rcu_read_lock();
	list_for_each_entry_rcu(ops, &tcp_ackpol_list, list)
		len += scnprintf(names + len, sizeof(names) - len, " %s",
				 ops->name);
	rcu_read_unlock();

	return proc_dostring(&table, write, buffer, lenp, ppos);
}

static const struct ctl_table tcp_ackpol_table[] = {
	{
		.procname	= "tcp_ack_policy",
		.maxlen		= TCP_ACKPOL_NAME_MAX,
		.mode		= 0644,
		.proc_handler	= proc_tcp_ack_policy,
	},
	{
		.procname	= "tcp_available_ack_policies",
		.maxlen		= TCP_ACKPOL_BUF_MAX,
		.mode		= 0444,
		.proc_handler	= proc_tcp_available_ack_policies,
	},
};

static int tcp_ackpol_sysctl_register(struct net *net)
{
	struct tcp_ackpol_net *an = tcp_ackpol_pernet(net);
	struct ctl_table *table;

	table = kmemdup(tcp_ackpol_table, sizeof(tcp_ackpol_table), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	table[0].data = net;

	an->sysctl = register_net_sysctl_sz(net, "net/ipv4", table,
					    ARRAY_SIZE(tcp_ackpol_table));
	if (!an->sysctl) {
		kfree(table);
		return -ENOMEM;
	}
	return 0;
}

static void tcp_ackpol_sysctl_unregister(struct net *net)
{
	struct tcp_ackpol_net *an = tcp_ackpol_pernet(net);
	const struct ctl_table *table = an->sysctl->ctl_table_arg;

	unregister_net_sysctl_table(an->sysctl);
	kfree(table);
}
#else
static int tcp_ackpol_sysctl_register(struct net *net)
{
	return 0;
}

static void tcp_ackpol_sysctl_unregister(struct net *net)
{
}
#endif

/* A new namespace starts with the initial one's policy, as it does with its
 * congestion control.
 */
static int __net_init tcp_ackpol_net_init(struct net *net)
{
	const struct tcp_ackpol_ops *ops;
	int ret;

	ret = tcp_ackpol_sysctl_register(net);
	if (ret || net_eq(net, &init_net))
		return ret;

	rcu_read_lock();
	ops = rcu_dereference(tcp_ackpol_pernet(&init_net)->ops);
	if (ops && try_module_get(ops->owner))
		rcu_assign_pointer(tcp_ackpol_pernet(net)->ops, ops);
	rcu_read_unlock();
	return 0;
}

static void __net_exit tcp_ackpol_net_exit(struct net *net)
{
	const struct tcp_ackpol_ops *ops;

	tcp_ackpol_sysctl_unregister(net);
	ops = rcu_dereference_protected(tcp_ackpol_pernet(net)->ops, true);
	if (ops)
		module_put(ops->owner);
}

static struct pernet_operations tcp_ackpol_net_ops __net_initdata = {
	.init	= tcp_ackpol_net_init,
	.exit	= tcp_ackpol_net_exit,
	.id	= &tcp_ackpol_net_id,
	.size	= sizeof(struct tcp_ackpol_net),
};

void __init tcp_ackpol_init(void)
{
	if (register_pernet_subsys(&tcp_ackpol_net_ops))
		panic("TCP: failed to register ACK policies");
}
