// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pluggable TCP acknowledgment policies: route metric RTAX_ACK_POLICY
 *
 * Metrics are numbers, so a policy is represented by a hash of its name, as
 * congestion controls are.
 */

#include <linux/jhash.h>
#include <linux/module.h>
#include <net/dst.h>
#include <net/tcp.h>

#include "tcp_ackpol_core.h"

/* Never 0, which stands for "not set" */
static u32 tcp_ackpol_key_of(const char *name)
{
	return jhash(name, strlen(name), 0) | 1;
}

/* Call under rcu_read_lock() */
static const struct tcp_ackpol_ops *tcp_ackpol_find_key(u32 key)
{
	const struct tcp_ackpol_ops *ops;

	list_for_each_entry_rcu(ops, &tcp_ackpol_list, list) {
		if (tcp_ackpol_key_of(ops->name) == key)
			return ops;
	}

	return NULL;
}

/* Is the metric of a name that of a registered policy or of "default"? */
bool tcp_ackpol_key_is_taken(const char *name)
{
	u32 key = tcp_ackpol_key_of(name);

	guard(rcu)();
	return key == tcp_ackpol_key_of(TCP_ACKPOL_DEFAULT) ||
	       tcp_ackpol_find_key(key);
}

/* The metric for the name of a policy, 0 if there is no such policy */
u32 tcp_ackpol_get_key(const char *name)
{
	const struct tcp_ackpol_ops *ops;

	if (tcp_ackpol_get(name, true, &ops))
		return 0;

	if (ops) {
		tcp_ackpol_enable(true);
		module_put(ops->owner);
	}
	return tcp_ackpol_key_of(name);
}

/* The name for a metric; NULL if its module was removed */
char *tcp_ackpol_get_key_name(u32 key, char name[TCP_ACKPOL_NAME_MAX])
{
	const struct tcp_ackpol_ops *ops = NULL;
	bool found;

	rcu_read_lock();
	found = key == tcp_ackpol_key_of(TCP_ACKPOL_DEFAULT);
	if (!found) {
		ops = tcp_ackpol_find_key(key);
		found = ops;
	}
	if (found)
		strscpy_pad(name, tcp_ackpol_name(ops), TCP_ACKPOL_NAME_MAX);
	rcu_read_unlock();

	return found ? name : NULL;
}

/* Apply the metric of the route, unless TCP_ACK_POLICY was set */
void __tcp_ackpol_assign_route(struct sock *sk, const struct dst_entry *dst)
{
	u32 key = dst_metric(dst, RTAX_ACK_POLICY);
	const struct tcp_ackpol_ops *ops = NULL;

	if (!key || tcp_sk(sk)->ackpol_chosen || sk_is_mptcp(sk))
		return;

	if (key != tcp_ackpol_key_of(TCP_ACKPOL_DEFAULT)) {
		rcu_read_lock();
		ops = tcp_ackpol_find_key(key);
		if (ops && !try_module_get(ops->owner))
			ops = NULL;
		rcu_read_unlock();
		if (!ops)
			return;
	}

	if (tcp_ackpol_attach(sk, ops))
		module_put(ops->owner);
}
