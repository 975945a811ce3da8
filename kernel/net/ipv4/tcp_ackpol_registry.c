// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pluggable TCP acknowledgment policies: registration and attachment
 *
 * A socket takes the policy of its network namespace when it is created or
 * accepted, unless a more specific choice was made.  A socket with the policy
 * "default" has no state, and the hooks in TCP are no-ops until a policy is
 * chosen.
 *
 * MPTCP subflows always have "default": MPTCP has its own rules for sending
 * ACKs (mptcp_subflow_cleanup_rbuf()), and a delayed DATA_ACK would stall the
 * whole connection.
 */

#include <linux/bitmap.h>
#include <linux/ctype.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/mptcp.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/tcp.h>

#include "tcp_ackpol_core.h"

DEFINE_STATIC_KEY_FALSE(tcp_ackpol_key);

LIST_HEAD(tcp_ackpol_list);

static unsigned int tcp_ackpol_net_id __read_mostly;

/* Protects the lists of policies and namespaces, and the parameters. A policy
 * may be registered while another task waits for its module with the RTNL or
 * an active reference to a sysctl, so its holders must not wait for these.
 */
static DEFINE_MUTEX(tcp_ackpol_mutex);

static LIST_HEAD(tcp_ackpol_nets);

/* Slots of tcp_ackpol_net.params in use */
static DECLARE_BITMAP(tcp_ackpol_params_used, TCP_ACKPOL_PARAMS_MAX);

struct tcp_ackpol_net *tcp_ackpol_pernet(const struct net *net)
{
	return net_generic(net, tcp_ackpol_net_id);
}

static void tcp_ackpol_enable_work(struct work_struct *work)
{
	static_branch_enable(&tcp_ackpol_key);
}

static DECLARE_WORK(tcp_ackpol_work, tcp_ackpol_enable_work);

/* A policy was chosen: enable the hooks in TCP */
void tcp_ackpol_enable(bool may_sleep)
{
	if (static_branch_likely(&tcp_ackpol_key))
		return;

	if (may_sleep)
		static_branch_enable(&tcp_ackpol_key);
	else
		schedule_work(&tcp_ackpol_work);
}

/* Call under rcu_read_lock() or with tcp_ackpol_mutex held */
const struct tcp_ackpol_ops *tcp_ackpol_find(const char *name)
{
	const struct tcp_ackpol_ops *ops;

	list_for_each_entry_rcu(ops, &tcp_ackpol_list, list,
				lockdep_is_held(&tcp_ackpol_mutex)) {
		if (!strcmp(ops->name, name))
			return ops;
	}

	return NULL;
}

/* Find a policy; load its module if necessary and allowed. Call under
 * rcu_read_lock(), which is dropped temporarily.
 */
static const struct tcp_ackpol_ops *tcp_ackpol_find_load(const char *name)
{
	const struct tcp_ackpol_ops *ops = tcp_ackpol_find(name);

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

/* Get a policy by name, with a reference to its module; *@ops is NULL for
 * "default".
 *
 * Return: 0, -ENOENT if there is no such policy, -EBUSY if its module is being
 * removed.
 */
int tcp_ackpol_get(const char *name, bool load,
		   const struct tcp_ackpol_ops **ops)
{
	const struct tcp_ackpol_ops *found;
	int ret = 0;

	*ops = NULL;
	if (!strcmp(name, TCP_ACKPOL_DEFAULT))
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

/* Initialize the parameters of a policy in a namespace */
static int tcp_ackpol_params_init(struct net *net,
				  const struct tcp_ackpol_ops *ops)
{
	int *params = tcp_ackpol_pernet(net)->params + ops->first_param;

	if (!ops->nr_params)
		return 0;

	memcpy(params, ops->defaults, ops->nr_params * sizeof(*params));
	return tcp_ackpol_params_sysctl_init(net, ops);
}

static bool tcp_ackpol_valid(const struct tcp_ackpol_ops *ops)
{
	const char *c;

	for (c = ops->name; *c; c++) {
		if (!isalnum(*c) && *c != '-' && *c != '_')
			return false;
	}

	return ops->ack_delay_us && ops->name[0] &&
	       ops->nr_params <= TCP_ACKPOL_PARAMS_MAX &&
	       (!ops->nr_params || (ops->params && ops->defaults));
}

/*
 * Allocate slots for a policy's parameters, and initialize them in all
 * namespaces
 */
static int tcp_ackpol_add_params(struct tcp_ackpol_ops *ops)
{
	struct tcp_ackpol_net *an;
	int ret;

	ops->first_param = bitmap_find_next_zero_area(tcp_ackpol_params_used,
						      TCP_ACKPOL_PARAMS_MAX, 0,
						      ops->nr_params, 0);
	if (ops->first_param + ops->nr_params > TCP_ACKPOL_PARAMS_MAX)
		return -ENOSPC;

	list_for_each_entry(an, &tcp_ackpol_nets, list) {
		ret = tcp_ackpol_params_init(an->net, ops);
		if (ret)
			goto undo;
	}
	bitmap_set(tcp_ackpol_params_used, ops->first_param, ops->nr_params);
	return 0;

undo:
	list_for_each_entry_continue_reverse(an, &tcp_ackpol_nets, list)
		tcp_ackpol_params_sysctl_exit(an->net, ops);
	return ret;
}

/**
 * tcp_register_ackpol() - make an ACK policy available
 * @ops: the policy
 *
 * Return: 0, -EINVAL if @ops lacks a required hook or its name has characters
 * other than letters, digits, "-" and "_", -EEXIST if the name is taken,
 * -ENOSPC if there are too many parameters, or -ENOMEM.
 */
int tcp_register_ackpol(struct tcp_ackpol_ops *ops)
{
	int ret;

	if (!tcp_ackpol_valid(ops))
		return -EINVAL;

	guard(mutex)(&tcp_ackpol_mutex);
	if (!strcmp(ops->name, TCP_ACKPOL_DEFAULT) ||
	    tcp_ackpol_find(ops->name))
		return -EEXIST;

	ret = tcp_ackpol_add_params(ops);
	if (ret)
		return ret;

	list_add_tail_rcu(&ops->list, &tcp_ackpol_list);
	return 0;
}
EXPORT_SYMBOL_GPL(tcp_register_ackpol);

/**
 * tcp_unregister_ackpol() - remove an ACK policy
 * @ops: the policy
 *
 * Sockets and namespaces that use a policy hold a reference to its module, so
 * there are none when its module exits.
 */
void tcp_unregister_ackpol(struct tcp_ackpol_ops *ops)
{
	struct tcp_ackpol_net *an;

	mutex_lock(&tcp_ackpol_mutex);
	list_del_rcu(&ops->list);
	list_for_each_entry(an, &tcp_ackpol_nets, list)
		tcp_ackpol_params_sysctl_exit(an->net, ops);
	bitmap_clear(tcp_ackpol_params_used, ops->first_param, ops->nr_params);
	mutex_unlock(&tcp_ackpol_mutex);

	/*
	 * Wait for readers that found it and have not yet taken a module
	 * reference
	 */
	synchronize_rcu();
}
EXPORT_SYMBOL_GPL(tcp_unregister_ackpol);

/**
 * tcp_ackpol_params() - parameters of a policy in a socket's namespace
 * @sk: socket
 * @ops: a policy with parameters
 *
 * They may change at any time: use READ_ONCE().
 *
 * Return: the values in the socket's namespace, in the order of @ops->params.
 */
const void *tcp_ackpol_params(const struct sock *sk,
			      const struct tcp_ackpol_ops *ops)
{
	return tcp_ackpol_pernet(sock_net(sk))->params + ops->first_param;
}
EXPORT_SYMBOL_GPL(tcp_ackpol_params);

/* Replace the policy and state of a socket by @ap, which may be NULL.
 * compressed_ack_timer may still fire: its handler uses the state that it finds
 * then.
 */
static void tcp_ackpol_replace(struct sock *sk, struct tcp_ackpol *ap)
{
	struct tcp_ackpol *old = tcp_ackpol(sk);

	if (old && old->ops->release)
		old->ops->release(sk);

	/* Lockless readers use ap->ops only */
	smp_store_release(&tcp_sk(sk)->ackpol, ap);

	/* SACK compression starts the timer only if it is not queued */
	if (old) {
		if (!ap)
			tcp_ackpol_yield_timer(sk);
		module_put(old->ops->owner);
		kfree_rcu(old, rcu);
	}
}

/* Replace the policy of a socket; NULL for "default". On success the socket
 * takes over the caller's reference to the module.
 *
 * Return: 0 or -ENOMEM; the socket then keeps its policy.
 */
int tcp_ackpol_attach(struct sock *sk, const struct tcp_ackpol_ops *ops)
{
	struct tcp_ackpol *ap = NULL;

	if (ops) {
		ap = kzalloc(sizeof(*ap), GFP_ATOMIC | __GFP_ACCOUNT);
		if (!ap)
			return -ENOMEM;
		ap->ops = ops;
	}

	tcp_ackpol_replace(sk, ap);
	if (ap && ops->init)
		ops->init(sk);
	return 0;
}

/* Attach the namespace's policy to a socket without one. Falls back to
 * "default" if out of memory.
 */
static void tcp_ackpol_attach_pernet(struct sock *sk)
{
	const struct tcp_ackpol_ops *ops;

	if (sk_is_mptcp(sk))
		return;

	rcu_read_lock();
	ops = rcu_dereference(tcp_ackpol_pernet(sock_net(sk))->ops);
	if (ops && !try_module_get(ops->owner))
		ops = NULL;
	rcu_read_unlock();

	if (ops && tcp_ackpol_attach(sk, ops))
		module_put(ops->owner);
}

void __tcp_ackpol_assign(struct sock *sk)
{
	tcp_ackpol_release(sk);
	tcp_ackpol_attach_pernet(sk);
}

void __tcp_ackpol_assign_child(struct sock *sk)
{
	tcp_sk(sk)->ackpol = NULL;	/* belongs to the listening socket */
	tcp_ackpol_attach_pernet(sk);
}

void __tcp_ackpol_release(struct sock *sk)
{
	tcp_ackpol_replace(sk, NULL);
}

/* A new namespace starts with the initial one's policy, as it does with its
 * congestion control.
 */
static int __net_init tcp_ackpol_net_init(struct net *net)
{
	struct tcp_ackpol_net *an = tcp_ackpol_pernet(net);
	const struct tcp_ackpol_ops *ops;
	int ret;

	ret = tcp_ackpol_sysctl_init(net);
	if (ret)
		return ret;

	mutex_lock(&tcp_ackpol_mutex);
	list_for_each_entry(ops, &tcp_ackpol_list, list) {
		ret = tcp_ackpol_params_init(net, ops);
		if (ret)
			goto undo;
	}

	rcu_read_lock();
	ops = rcu_dereference(tcp_ackpol_pernet(&init_net)->ops);
	if (ops && try_module_get(ops->owner))
		rcu_assign_pointer(an->ops, ops);
	rcu_read_unlock();

	an->net = net;
	list_add_tail(&an->list, &tcp_ackpol_nets);
	mutex_unlock(&tcp_ackpol_mutex);
	return 0;

undo:
	list_for_each_entry_continue_reverse(ops, &tcp_ackpol_list, list)
		tcp_ackpol_params_sysctl_exit(net, ops);
	mutex_unlock(&tcp_ackpol_mutex);
	tcp_ackpol_sysctl_exit(net);
	return ret;
}

static void __net_exit tcp_ackpol_net_exit(struct net *net)
{
	struct tcp_ackpol_net *an = tcp_ackpol_pernet(net);
	const struct tcp_ackpol_ops *ops;

	/* Waits for tcp_ack_policy, which may load a module */
	tcp_ackpol_sysctl_exit(net);

	mutex_lock(&tcp_ackpol_mutex);
	list_del(&an->list);
	list_for_each_entry(ops, &tcp_ackpol_list, list)
		tcp_ackpol_params_sysctl_exit(net, ops);
	mutex_unlock(&tcp_ackpol_mutex);

	ops = rcu_dereference_protected(an->ops, true);
	RCU_INIT_POINTER(an->ops, NULL);
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
