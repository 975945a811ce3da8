// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pluggable TCP acknowledgment policies
 *
 * Registry, choice of a policy, and the one high-resolution timer a
 * socket has for an ACK that waits:
 *
 *   data arrives --> data_recv() --> __tcp_ack_snd_check()
 *                                      |  out of order: as Linux always did
 *                                      |  ACK demanded: now
 *                                      v
 *                                    ack_delay_us() -- 0 --> now
 *                                      |     '-- DELACK --> Linux' timer
 *                                      v
 *                     deadline = arrival + delay, timer --> ACK
 *
 * Any ACK that leaves, pure or piggy-backed, forgets the deadline.
 *
 * Which policy a socket has: what it chose by TCP_ACK_POLICY, else what its
 * route says (RTAX_ACK_POLICY), else its network namespace's sysctl.
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

#include <linux/inet_diag.h>
#include <linux/jhash.h>
#include <linux/sysctl.h>
#include <net/net_namespace.h>
#include <net/netlink.h>
#include <net/netns/generic.h>
#include <net/tcp.h>

#define CREATE_TRACE_POINTS
#include <trace/events/tcp_ackpol.h>

#define TCP_ACKPOL_DEFAULT	"default"

struct tcp_ackpol_net {
	/* Policy of new sockets, NULL for "default"; holds its module */
	const struct tcp_ackpol_ops __rcu *ops;
	struct ctl_table_header *sysctl;
	/* Names that sockets may choose without CAP_NET_ADMIN, with a space
	 * after each; under tcp_ackpol_list_lock
	 */
	char allowed[TCP_ACKPOL_BUF_MAX];
};

static unsigned int tcp_ackpol_net_id __read_mostly;
static DEFINE_SPINLOCK(tcp_ackpol_list_lock);
static LIST_HEAD(tcp_ackpol_list);

static struct tcp_ackpol_net *tcp_ackpol_pernet(const struct net *net)
{
	return net_generic(net, tcp_ackpol_net_id);
}

static bool tcp_ackpol_is_default(const char *name)
{
	return !strcmp(name, TCP_ACKPOL_DEFAULT);
}

/* What stands for a name in a route; never 0, which is "not set" */
static u32 tcp_ackpol_hash(const char *name)
{
	return jhash(name, strlen(name), 0) | 1;
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

static struct tcp_ackpol_ops *tcp_ackpol_find_key(u32 key)
{
	struct tcp_ackpol_ops *ops;

	list_for_each_entry_rcu(ops, &tcp_ackpol_list, list,
				lockdep_is_held(&tcp_ackpol_list_lock)) {
		if (ops->key == key)
			return ops;
	}

	return NULL;
}

/* Find a policy, loading its module if need be and allowed.
 * Call under rcu_read_lock(), which is dropped meanwhile.
 */
static struct tcp_ackpol_ops *tcp_ackpol_find_load(const char *name)
{
	struct tcp_ackpol_ops *ops = tcp_ackpol_find(name);

#ifdef CONFIG_MODULES
	if (!ops && capable(CAP_NET_ADMIN)) {
		rcu_read_unlock();
		request_module("tcp-ackpol-%s", name);
		rcu_read_lock();
		ops = tcp_ackpol_find(name);
	}
#endif
	return ops;
}

/* Get hold of a policy by name.  *@ops is NULL for "default".
 *
 * Return: 0, -ENOENT if there is none of that name, -EBUSY if its module is
 * going away.
 */
static int tcp_ackpol_get(const char *name, bool load,
			  const struct tcp_ackpol_ops **ops)
{
	const struct tcp_ackpol_ops *found;
	int ret = 0;

	*ops = NULL;
	if (tcp_ackpol_is_default(name))
		return 0;

	rcu_read_lock();
	found = load ? tcp_ackpol_find_load(name) : tcp_ackpol_find(name);
	if (!found)
		ret = -ENOENT;
	else if (!try_module_get(found->owner))
		ret = -EBUSY;
	else
		*ops = found;
	rcu_read_unlock();

	return ret;
}

/**
 * tcp_register_ackpol() - make an ACK policy available
 * @ops: the policy
 *
 * Return: 0, -EINVAL if @ops lacks a required hook or a name, or the name has a
 * space, -EEXIST if the name is taken.
 */
int tcp_register_ackpol(struct tcp_ackpol_ops *ops)
{
	int ret = 0;

	if (!ops->ack_delay_us || !ops->name[0] || strchr(ops->name, ' '))
		return -EINVAL;

	ops->key = tcp_ackpol_hash(ops->name);
	if (ops->key == tcp_ackpol_hash(TCP_ACKPOL_DEFAULT))
		return -EEXIST;

	spin_lock(&tcp_ackpol_list_lock);
	if (tcp_ackpol_find_key(ops->key))
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

/**
 * tcp_ackpol_exceeds() - do more than some full segments wait for their ACK?
 * @sk: socket with a policy
 * @segs: full segments that may wait; Linux' own rule has 1
 *
 * Linux asks the window, too: it has to advance, else reading sends the ACK.
 * So that counts only for policies that leave it to reading.
 *
 * Return: true if Linux' rule, with @segs in the place of 1, wants an ACK.
 */
bool tcp_ackpol_exceeds(const struct sock *sk, u32 segs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 most = (u64)inet_csk(sk)->icsk_ack.rcv_mss * segs;

	if (tp->rcv_nxt - tp->rcv_wup <= most)
		return false;

	return tcp_ackpol_rules(sk) ||
	       tp->rcv_nxt - tp->copied_seq < sk->sk_rcvlowat ||
	       __tcp_select_window((struct sock *)sk) >= tp->rcv_wnd;
}
EXPORT_SYMBOL_GPL(tcp_ackpol_exceeds);

static ktime_t tcp_ackpol_deadline(const struct tcp_sock *tp)
{
	return ns_to_ktime(tp->ackpol.deadline_us * NSEC_PER_USEC);
}

/* Make sure that the timer fires no later than the deadline.
 *
 * Return: false if it cannot be moved, as its handler runs on another CPU at
 * this moment.  An ACK is just due then, and sending one is never wrong.
 */
static bool tcp_ackpol_arm(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct hrtimer *timer = &tp->ackpol.timer;
	ktime_t expires = tcp_ackpol_deadline(tp);

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

/* The timer fired: send the ACK if one is still to be sent and it is time.
 *
 * Return: true if it waits on, for what is now the deadline.
 */
static bool tcp_ackpol_expire(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct tcp_ackpol_ops *ops = tp->ackpol_ops;
	u32 wait_us = 0;

	if (!tp->ackpol.deadline_us)
		return false;

	tcp_mstamp_refresh(tp);
	if (tp->tcp_mstamp < tp->ackpol.deadline_us)
		return true;

	tp->ackpol.deadline_us = 0;
	if ((1 << sk->sk_state) & (TCPF_CLOSE | TCPF_LISTEN) ||
	    !inet_csk_ack_scheduled(sk))
		return false;

	if (ops->timer)
		wait_us = ops->timer(sk);
	if (wait_us) {
		tp->ackpol.deadline_us = tp->tcp_mstamp + wait_us;
		return true;
	}

	/* Nothing went back while the ACK waited: not interactive */
	inet_csk_exit_pingpong_mode(sk);

	trace_tcp_ackpol_decision(sk, TCP_ACKPOL_TIMER, 0);
	tcp_send_ack(sk);
	__NET_INC_STATS(sock_net(sk), LINUX_MIB_DELAYEDACKS);
	__NET_INC_STATS(sock_net(sk), LINUX_MIB_TCPACKPOLTIMER);
	return false;
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
	} else if (tcp_ackpol_expire(sk)) {
		hrtimer_set_expires(timer, tcp_ackpol_deadline(tp));
		restart = HRTIMER_RESTART;
	}
	bh_unlock_sock(sk);

	if (restart == HRTIMER_NORESTART)
		sock_put(sk);

	return restart;
}

/* The timer fired while the socket was owned by the user */
void __tcp_ackpol_deferred(struct sock *sk)
{
	if (tcp_ackpol_expire(sk) && !tcp_ackpol_arm(sk))
		tcp_send_ack(sk);
}

void __tcp_ackpol_cancel(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->ackpol.deadline_us = 0;
	if (hrtimer_try_to_cancel(&tp->ackpol.timer) == 1)
		__sock_put(sk);
}

/* Begin with a policy whose module is held, NULL for "default" */
static void tcp_ackpol_start(struct sock *sk, const struct tcp_ackpol_ops *ops)
{
	struct tcp_sock *tp = tcp_sk(sk);

	memset_startat(&tp->ackpol, 0, deadline_us);
	WRITE_ONCE(tp->ackpol_ops, ops);
	if (!ops)
		return;

	/* Once a socket: its handler may just run when policies change */
	if (!tp->ackpol.timer.function) {
		hrtimer_init(&tp->ackpol.timer, CLOCK_MONOTONIC,
			     HRTIMER_MODE_ABS_PINNED_SOFT);
		tp->ackpol.timer.function = tcp_ackpol_kick;
	}
	if (ops->init)
		ops->init(sk);
}

static void tcp_ackpol_start_pernet(struct sock *sk)
{
	const struct tcp_ackpol_ops *ops;

	rcu_read_lock();
	ops = rcu_dereference(tcp_ackpol_pernet(sock_net(sk))->ops);
	if (ops && !try_module_get(ops->owner))
		ops = NULL;
	rcu_read_unlock();

	tcp_ackpol_start(sk, ops);
}

/* A new socket, or one that starts anew after tcp_disconnect() */
void __tcp_ackpol_assign(struct sock *sk)
{
	const struct tcp_ackpol_ops *ops = tcp_sk(sk)->ackpol_ops;

	if (tcp_sk(sk)->ackpol.chosen && ops)
		__module_get(ops->owner);
	tcp_ackpol_release(sk);

	if (tcp_sk(sk)->ackpol.chosen)
		tcp_ackpol_start(sk, ops);
	else
		tcp_ackpol_start_pernet(sk);
}

/* An accepted socket, which is a copy of the listening one: as if it had made
 * the same choice.  That one may just change its mind on another CPU, so what
 * was copied is valid under RCU only.
 */
void __tcp_ackpol_assign_child(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct tcp_ackpol_ops *ops;

	memset(&tp->ackpol.timer, 0, sizeof(tp->ackpol.timer));

	rcu_read_lock();
	ops = tp->ackpol_ops;
	tp->ackpol_ops = NULL;
	if (ops && tp->ackpol.chosen && !try_module_get(ops->owner))
		tp->ackpol.chosen = false;
	rcu_read_unlock();

	if (tp->ackpol.chosen)
		tcp_ackpol_start(sk, ops);
	else
		tcp_ackpol_start_pernet(sk);
}

/* The route is known: what it says counts, unless the socket made a choice */
void __tcp_ackpol_assign_route(struct sock *sk, const struct dst_entry *dst)
{
	u32 key = dst_metric(dst, RTAX_ACK_POLICY);
	const struct tcp_ackpol_ops *ops = NULL;

	if (!key || tcp_sk(sk)->ackpol.chosen)
		return;

	if (key != tcp_ackpol_hash(TCP_ACKPOL_DEFAULT)) {
		rcu_read_lock();
		ops = tcp_ackpol_find_key(key);
		if (ops && !try_module_get(ops->owner))
			ops = NULL;
		rcu_read_unlock();
		if (!ops)
			return;
	}

	tcp_ackpol_release(sk);
	tcp_ackpol_start(sk, ops);
}

void __tcp_ackpol_release(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct tcp_ackpol_ops *ops = tp->ackpol_ops;

	__tcp_ackpol_cancel(sk);
	if (ops->release)
		ops->release(sk);
	WRITE_ONCE(tp->ackpol_ops, NULL);
	module_put(ops->owner);
}

static bool tcp_ackpol_allowed(const struct net *net, const char *name)
{
	char word[TCP_ACKPOL_NAME_MAX + 2];
	const char *found;
	bool allowed;

	snprintf(word, sizeof(word), "%s ", name);
	spin_lock(&tcp_ackpol_list_lock);
	found = tcp_ackpol_pernet(net)->allowed;
	while ((found = strstr(found, word)) &&
	       found != tcp_ackpol_pernet(net)->allowed && found[-1] != ' ')
		found++;
	allowed = found;
	spin_unlock(&tcp_ackpol_list_lock);

	return allowed;
}

/**
 * tcp_ackpol_set() - choose a socket's policy, for TCP_ACK_POLICY
 * @sk: socket, locked
 * @name: the policy's name
 * @load: may its module be loaded?
 * @cap: may all policies be chosen, or only the allowed ones?
 *
 * An ACK that waits under the old policy leaves now.
 *
 * Return: 0, -ENOENT if there is none of that name, -EPERM, -EBUSY if its
 * module is going away.
 */
int tcp_ackpol_set(struct sock *sk, const char *name, bool load, bool cap)
{
	const struct tcp_ackpol_ops *ops;
	struct tcp_sock *tp = tcp_sk(sk);
	int ret;

	ret = tcp_ackpol_get(name, load, &ops);
	if (ret)
		return ret;

	if (!cap && !tcp_ackpol_allowed(sock_net(sk), name))
		ret = -EPERM;
	if (ret || ops == tp->ackpol_ops) {
		if (ops)
			module_put(ops->owner);
		if (!ret)
			tp->ackpol.chosen = true;
		return ret;
	}

	tp->ackpol.chosen = true;
	tcp_ackpol_release(sk);
	tcp_ackpol_start(sk, ops);

	if (inet_csk_ack_scheduled(sk) &&
	    !((1 << sk->sk_state) & (TCPF_CLOSE | TCPF_LISTEN | TCPF_SYN_SENT |
				     TCPF_SYN_RECV)))
		tcp_send_ack(sk);
	return 0;
}

static void tcp_ackpol_copy_name(const struct tcp_ackpol_ops *ops,
				 char name[TCP_ACKPOL_NAME_MAX])
{
	strscpy_pad(name, ops ? ops->name : TCP_ACKPOL_DEFAULT,
		    TCP_ACKPOL_NAME_MAX);
}

/* The name of a socket's policy, padded with zeros */
void tcp_ackpol_name(const struct sock *sk, char name[TCP_ACKPOL_NAME_MAX])
{
	rcu_read_lock();
#ifdef CONFIG_TCP_ACKPOL
	tcp_ackpol_copy_name(READ_ONCE(tcp_sk(sk)->ackpol_ops), name);
#endif
	rcu_read_unlock();
}

/* What stands for a policy in the route metric RTAX_ACK_POLICY, 0 if there is
 * none of that name.
 */
u32 tcp_ackpol_get_key(const char *name)
{
	const struct tcp_ackpol_ops *ops;
	u32 key = 0;

	if (tcp_ackpol_is_default(name))
		return tcp_ackpol_hash(name);

	rcu_read_lock();
	ops = tcp_ackpol_find_load(name);
	if (ops)
		key = ops->key;
	rcu_read_unlock();

	return key;
}

/* The reverse; NULL if its module is gone */
char *tcp_ackpol_get_name(u32 key, char name[TCP_ACKPOL_NAME_MAX])
{
	const struct tcp_ackpol_ops *ops = NULL;
	bool found;

	rcu_read_lock();
	found = key == tcp_ackpol_hash(TCP_ACKPOL_DEFAULT);
	if (!found) {
		ops = tcp_ackpol_find_key(key);
		found = ops;
	}
	if (found)
		tcp_ackpol_copy_name(ops, name);
	rcu_read_unlock();

	return found ? name : NULL;
}

static void tcp_ackpol_fill_info(struct sock *sk, struct tcp_ackpol_info *info)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 now_us;
	bool slow;

	slow = lock_sock_fast(sk);
	if (tp->ackpol_ops) {
		now_us = tcp_clock_us();
		info->segs = tp->ackpol.segs;
		info->iat_us = tp->ackpol.arrival_us ? tp->ackpol.iat_us :
						       TCP_ACKPOL_US_NONE;
		info->delay_us = tp->ackpol.delay_us;
		info->due_us = TCP_ACKPOL_US_NONE;
		if (tp->ackpol.deadline_us)
			info->due_us = tp->ackpol.deadline_us > now_us ?
				       tp->ackpol.deadline_us - now_us : 0;
		if (tp->ackpol_ops->get_info)
			tp->ackpol_ops->get_info(sk, &info->state);
	}
	unlock_sock_fast(sk, slow);
}

/**
 * tcp_ackpol_put_info() - tell a socket's policy and its state
 * @sk: socket
 * @skb: message of inet_diag, gets INET_DIAG_ACKPOL
 *
 * Return: 0 or -EMSGSIZE.
 */
int tcp_ackpol_put_info(struct sock *sk, struct sk_buff *skb)
{
	struct tcp_ackpol_info info = {};
	char name[TCP_ACKPOL_NAME_MAX];
	struct nlattr *nest;

	nest = nla_nest_start(skb, INET_DIAG_ACKPOL);
	if (!nest)
		return -EMSGSIZE;

	tcp_ackpol_name(sk, name);
	if (nla_put_string(skb, TCP_ACKPOL_DIAG_NAME, name))
		goto cancel;

	/* A listening socket has no state, and a spin lock is held for it */
	if (inet_sk_state_load(sk) != TCP_LISTEN &&
	    !tcp_ackpol_is_default(name)) {
		tcp_ackpol_fill_info(sk, &info);
		if (nla_put(skb, TCP_ACKPOL_DIAG_INFO, sizeof(info), &info))
			goto cancel;
	}

	nla_nest_end(skb, nest);
	return 0;

cancel:
	nla_nest_cancel(skb, nest);
	return -EMSGSIZE;
}
EXPORT_SYMBOL_GPL(tcp_ackpol_put_info);

size_t tcp_ackpol_info_size(void)
{
	return nla_total_size(nla_total_size(TCP_ACKPOL_NAME_MAX) +
			      nla_total_size(sizeof(struct tcp_ackpol_info)));
}
EXPORT_SYMBOL_GPL(tcp_ackpol_info_size);

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
	if (!tp->ackpol.segs)
		tp->ackpol.first_us = now;
	tp->ackpol.segs += max_t(u16, 1, skb_shinfo(skb)->gso_segs);

	if (ops->data_recv)
		ops->data_recv(sk);
}

void __tcp_ackpol_ack_sent(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct tcp_ackpol_ops *ops = tp->ackpol_ops;

	__tcp_ackpol_cancel(sk);
	trace_tcp_ackpol_ack(sk);
	if (ops->ack_sent)
		ops->ack_sent(sk);

	if (tp->ackpol.segs > 2)
		NET_INC_STATS(sock_net(sk), LINUX_MIB_TCPACKPOLSTRETCHED);
	tp->ackpol.segs = 0;
	tp->ackpol.first_us = 0;
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

/* Does the ACK for data in order have to leave at once?  TCP_ACKPOL_DELAYED is
 * no: the policy decides.
 */
static enum tcp_ackpol_reason tcp_ackpol_demand(struct sock *sk, bool quickack)
{
	if (inet_csk(sk)->icsk_ack.pending & ICSK_ACK_NOW)
		return TCP_ACKPOL_NOW;

	if (quickack && !(tcp_sk(sk)->ackpol_ops->flags & TCP_ACKPOL_F_QUICK))
		return TCP_ACKPOL_QUICK;

	if (sk->sk_shutdown & RCV_SHUTDOWN)
		return TCP_ACKPOL_FIN;

	if (tcp_ackpol_window_runs_out(sk))
		return TCP_ACKPOL_WINDOW;

	return TCP_ACKPOL_DELAYED;
}

static enum tcp_ackpol_reason tcp_ackpol_ask(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 delay_us;

	delay_us = tp->ackpol_ops->ack_delay_us(sk);
	tp->ackpol.delay_us = delay_us;
	if (!delay_us)
		return TCP_ACKPOL_POLICY;

	if (delay_us == TCP_ACKPOL_DELACK) {
		tp->ackpol.deadline_us = 0;
		return TCP_ACKPOL_DELACKED;
	}

	tp->ackpol.deadline_us = tp->ackpol.arrival_us + delay_us;
	return tcp_ackpol_arm(sk) ? TCP_ACKPOL_DELAYED : TCP_ACKPOL_POLICY;
}

static void tcp_ackpol_count(const struct sock *sk,
			     enum tcp_ackpol_reason reason)
{
	static const u8 mib[] = {
		[TCP_ACKPOL_DELAYED]	= LINUX_MIB_TCPACKPOLDELAYED,
		[TCP_ACKPOL_DELACKED]	= LINUX_MIB_TCPACKPOLDELAYED,
		[TCP_ACKPOL_POLICY]	= LINUX_MIB_TCPACKPOLPOLICY,
		[TCP_ACKPOL_NOW]	= LINUX_MIB_TCPACKPOLNOW,
		[TCP_ACKPOL_QUICK]	= LINUX_MIB_TCPACKPOLQUICK,
		[TCP_ACKPOL_FIN]	= LINUX_MIB_TCPACKPOLFIN,
		[TCP_ACKPOL_WINDOW]	= LINUX_MIB_TCPACKPOLWINDOW,
	};

	BUILD_BUG_ON(LINUX_MIB_TCPACKPOLWINDOW > U8_MAX);

	NET_INC_STATS(sock_net(sk), mib[reason]);
}

/**
 * tcp_ackpol_ack_now() - decide on the ACK for data that arrived in order
 * @sk: socket with a policy and nothing in its out of order queue
 * @quickack: is the socket in quick ACK mode?
 *
 * Return: true if the ACK is to be sent now, false if it waits for a timer.
 */
bool tcp_ackpol_ack_now(struct sock *sk, bool quickack)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	enum tcp_ackpol_reason reason;

	reason = tcp_ackpol_demand(sk, quickack);
	if (reason == TCP_ACKPOL_DELAYED)
		reason = tcp_ackpol_ask(sk);
	else
		tcp_sk(sk)->ackpol.delay_us = 0;

	trace_tcp_ackpol_decision(sk, reason, tp->ackpol.delay_us);
	tcp_ackpol_count(sk, reason);

	if (reason != TCP_ACKPOL_DELAYED && reason != TCP_ACKPOL_DELACKED) {
		if (tp->ackpol_ops->ack_due)
			tp->ackpol_ops->ack_due(sk, reason);
		return true;
	}

	/* Linux' rule without what it asks of the window, which costs more */
	if (tp->rcv_nxt - tp->rcv_wup > inet_csk(sk)->icsk_ack.rcv_mss)
		NET_INC_STATS(sock_net(sk), LINUX_MIB_TCPACKPOLSUPPRESSED);
	if (reason == TCP_ACKPOL_DELACKED)
		tcp_send_delayed_ack(sk);
	return false;
}

#ifdef CONFIG_SYSCTL
static int tcp_ackpol_set_pernet(struct net *net, const char *name)
{
	const struct tcp_ackpol_ops *ops, *prev;
	int ret;

	ret = tcp_ackpol_get(name, true, &ops);
	if (ret)
		return ret;

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
	int ret;

	rcu_read_lock();
	tcp_ackpol_copy_name(rcu_dereference(tcp_ackpol_pernet(net)->ops),
			     name);
	rcu_read_unlock();

	ret = proc_dostring(&table, write, buffer, lenp, ppos);
	if (write && !ret)
		ret = tcp_ackpol_set_pernet(net, name);
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

static int tcp_ackpol_set_allowed(struct net *net, char *names)
{
	char allowed[TCP_ACKPOL_BUF_MAX] = "";
	size_t len = 0;
	int ret = 0;
	char *name;

	spin_lock(&tcp_ackpol_list_lock);
	while ((name = strsep(&names, " "))) {
		if (!*name)
			continue;
		if (!tcp_ackpol_is_default(name) && !tcp_ackpol_find(name)) {
			ret = -ENOENT;
			goto out;
		}
		len += snprintf(allowed + len, sizeof(allowed) - len, "%s ",
				name);
		if (len >= sizeof(allowed)) {
			ret = -EINVAL;
			goto out;
		}
	}
	strscpy(tcp_ackpol_pernet(net)->allowed, allowed);
out:
	spin_unlock(&tcp_ackpol_list_lock);
	return ret;
}

static int proc_tcp_allowed_ack_policies(const struct ctl_table *ctl, int write,
					 void *buffer, size_t *lenp,
					 loff_t *ppos)
{
	char names[TCP_ACKPOL_BUF_MAX];
	struct ctl_table table = {
		.data = names,
		.maxlen = sizeof(names),
	};
	struct net *net = ctl->data;
	int ret;

	spin_lock(&tcp_ackpol_list_lock);
	strscpy(names, tcp_ackpol_pernet(net)->allowed);
	spin_unlock(&tcp_ackpol_list_lock);
	strim(names);

	ret = proc_dostring(&table, write, buffer, lenp, ppos);
	if (write && !ret)
		ret = tcp_ackpol_set_allowed(net, names);
	return ret;
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
	{
		.procname	= "tcp_allowed_ack_policies",
		.maxlen		= TCP_ACKPOL_BUF_MAX,
		.mode		= 0644,
		.proc_handler	= proc_tcp_allowed_ack_policies,
	},
};

/**
 * tcp_ackpol_register_sysctl() - make parameters of a namespace settable
 * @net: network namespace
 * @table: template whose .data are offsets into @values
 * @size: entries of @table
 * @values: the namespace's parameters
 *
 * Return: what tcp_ackpol_unregister_sysctl() takes, or ERR_PTR(-ENOMEM).
 */
struct ctl_table_header *
tcp_ackpol_register_sysctl(struct net *net, const struct ctl_table *table,
			   size_t size, void *values)
{
	struct ctl_table_header *header;
	struct ctl_table *copy;
	size_t i;

	copy = kmemdup_array(table, size, sizeof(*table), GFP_KERNEL);
	if (!copy)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < size; i++)
		copy[i].data = values + (size_t)copy[i].data;

	header = register_net_sysctl_sz(net, "net/ipv4", copy, size);
	if (!header) {
		kfree(copy);
		return ERR_PTR(-ENOMEM);
	}
	return header;
}
EXPORT_SYMBOL_GPL(tcp_ackpol_register_sysctl);

void tcp_ackpol_unregister_sysctl(struct ctl_table_header *header)
{
	const struct ctl_table *copy = header->ctl_table_arg;

	unregister_net_sysctl_table(header);
	kfree(copy);
}
EXPORT_SYMBOL_GPL(tcp_ackpol_unregister_sysctl);
#else
struct ctl_table_header *
tcp_ackpol_register_sysctl(struct net *net, const struct ctl_table *table,
			   size_t size, void *values)
{
	return NULL;
}
EXPORT_SYMBOL_GPL(tcp_ackpol_register_sysctl);

void tcp_ackpol_unregister_sysctl(struct ctl_table_header *header)
{
}
EXPORT_SYMBOL_GPL(tcp_ackpol_unregister_sysctl);

static const struct ctl_table tcp_ackpol_table[] = {};
#endif
/* A new namespace starts with the initial one's policies, as it does with its
 * congestion control.
 */
static int __net_init tcp_ackpol_net_init(struct net *net)
{
	struct tcp_ackpol_net *init = tcp_ackpol_pernet(&init_net);
	struct tcp_ackpol_net *an = tcp_ackpol_pernet(net);
	const struct tcp_ackpol_ops *ops;

	an->sysctl = tcp_ackpol_register_sysctl(net, tcp_ackpol_table,
						ARRAY_SIZE(tcp_ackpol_table),
						net);
	if (IS_ERR(an->sysctl))
		return PTR_ERR(an->sysctl);

	if (net_eq(net, &init_net)) {
		strscpy(an->allowed, TCP_ACKPOL_DEFAULT " ");
		return 0;
	}

	spin_lock(&tcp_ackpol_list_lock);
	strscpy(an->allowed, init->allowed);
	spin_unlock(&tcp_ackpol_list_lock);

	rcu_read_lock();
	ops = rcu_dereference(init->ops);
	if (ops && try_module_get(ops->owner))
		rcu_assign_pointer(an->ops, ops);
	rcu_read_unlock();
	return 0;
}

static void __net_exit tcp_ackpol_net_exit(struct net *net)
{
	const struct tcp_ackpol_ops *ops;

	tcp_ackpol_unregister_sysctl(tcp_ackpol_pernet(net)->sysctl);
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
