// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pluggable TCP acknowledgment policies: sysctls of a network namespace
 */

#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

#include "tcp_ackpol_core.h"

#define TCP_ACKPOL_BUF_MAX	256

static int tcp_ackpol_set_pernet(struct net *net, const char *name)
{
	const struct tcp_ackpol_ops *ops, *prev;
	int ret;

	ret = tcp_ackpol_get(name, true, &ops);
	if (ret)
		return ret;

	if (ops)
		tcp_ackpol_enable(true);
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
	strscpy(name,
		tcp_ackpol_name(rcu_dereference(tcp_ackpol_pernet(net)->ops)));
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
	const struct tcp_ackpol_ops *ops;
	size_t len = strlen(names);

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

/* Register an allocated table; NULL if the allocation failed */
static struct ctl_table_header *tcp_ackpol_register(struct net *net,
						    struct ctl_table *table,
						    size_t size)
{
	struct ctl_table_header *header = NULL;

	if (table)
		header = register_net_sysctl_sz(net, "net/ipv4", table, size);
	if (!header)
		kfree(table);
	return header;
}

static void tcp_ackpol_unregister(struct ctl_table_header *header)
{
	const struct ctl_table *table = header->ctl_table_arg;

	unregister_net_sysctl_table(header);
	kfree(table);
}

int __net_init tcp_ackpol_sysctl_init(struct net *net)
{
	struct tcp_ackpol_net *an = tcp_ackpol_pernet(net);
	size_t size = ARRAY_SIZE(tcp_ackpol_table);
	struct ctl_table *table;
	size_t i;

	table = kmemdup_array(tcp_ackpol_table, size, sizeof(*table),
			      GFP_KERNEL);
	for (i = 0; table && i < size; i++)
		table[i].data = net;

	an->sysctl = tcp_ackpol_register(net, table, size);
	return an->sysctl ? 0 : -ENOMEM;
}

void tcp_ackpol_sysctl_exit(struct net *net)
{
	tcp_ackpol_unregister(tcp_ackpol_pernet(net)->sysctl);
}

int tcp_ackpol_params_sysctl_init(struct net *net,
				  const struct tcp_ackpol_ops *ops)
{
	struct tcp_ackpol_net *an = tcp_ackpol_pernet(net);
	struct ctl_table_header *header;
	struct ctl_table *table;
	unsigned int i;

	table = kcalloc(ops->nr_params, sizeof(*table), GFP_KERNEL);
	for (i = 0; table && i < ops->nr_params; i++)
		table[i] = (struct ctl_table) {
			.procname	= ops->params[i].name,
			.data		= &an->params[ops->first_param + i],
			.maxlen		= sizeof(int),
			.mode		= 0644,
			.proc_handler	= proc_dointvec_minmax,
			.extra1		= (void *)&ops->params[i].min,
			.extra2		= (void *)&ops->params[i].max,
		};

	header = tcp_ackpol_register(net, table, ops->nr_params);
	an->params_sysctl[ops->first_param] = header;
	return header ? 0 : -ENOMEM;
}

void tcp_ackpol_params_sysctl_exit(struct net *net,
				   const struct tcp_ackpol_ops *ops)
{
	if (ops->nr_params)
		tcp_ackpol_unregister(tcp_ackpol_pernet(net)->params_sysctl[ops->first_param]);
}
