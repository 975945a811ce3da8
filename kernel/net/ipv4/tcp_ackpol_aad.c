// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP-AAD: aggregation aware delayed acknowledgment
 *
 * Wi-Fi sends frames in aggregates.  Segments of one aggregate arrive tens of
 * microseconds apart, the first segment of the next one comes after a channel
 * access, hundreds of microseconds later.  An ACK that leaves in that gap
 * acknowledges a whole aggregate, and contends for the channel once instead of
 * once every two segments.
 *
 * The inter-arrival time (IAT) tells both apart.  Those of tcp_aad_min_iat_us
 * or less lie within an aggregate and are discarded.  With the least and the
 * last of the others each arrival restarts one timer:
 *
 *	T = (IAT_min * alpha + IAT_curr * (1 - alpha)) * beta
 *
 * The timer alone decides; the rule of two segments does not apply.  With fewer
 * than tcp_aad_segments pending T is tcp_aad_max_delay_us.
 *
 * This is the pseudocode of
 *   [1] A. Avkhadeev, "Performance evaluation of delayed acknowledgment scheme
 *       of TCP over Wi-Fi", thesis, Innopolis University, 2025, listing 3.1,
 * which its kernel patch (listings 4.1 to 4.5) follows only in part.
 */

#include <linux/module.h>
#include <linux/sysctl.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/tcp_ackpol.h>

#include "tcp_ackpol_aad.h"

struct tcp_aad_net {
	struct tcp_aad_params params;
	struct ctl_table_header *sysctl;
};

static unsigned int tcp_aad_net_id __read_mostly;

static const struct tcp_aad_params *tcp_aad_params(const struct sock *sk)
{
	struct tcp_aad_net *an = net_generic(sock_net(sk), tcp_aad_net_id);

	return &an->params;
}

static void tcp_aad_init(struct sock *sk)
{
	tcp_aad_start(tcp_ackpol_priv(sk));
}

static void tcp_aad_data_recv(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	BUILD_BUG_ON(TCP_AAD_INF != TCP_ACKPOL_IAT_NONE);

	tcp_aad_arrival(tcp_ackpol_priv(sk), tcp_aad_params(sk),
			tp->ackpol.arrival_us, tp->ackpol.iat_us);
}

static u32 tcp_aad_ack_delay_us(const struct sock *sk)
{
	return tcp_aad_delay_us(tcp_ackpol_priv(sk), tcp_aad_params(sk),
				tcp_sk(sk)->ackpol.segs);
}

static struct tcp_ackpol_ops tcp_aad __read_mostly = {
	.ack_delay_us	= tcp_aad_ack_delay_us,
	.data_recv	= tcp_aad_data_recv,
	.init		= tcp_aad_init,
	.name		= "aad",
	.owner		= THIS_MODULE,
};

static const struct tcp_aad_params tcp_aad_default = TCP_AAD_PARAMS_DEFAULT;

#ifdef CONFIG_SYSCTL
static int beta_max = 10000;		/* 100 times the weighted IAT */
static int min_iat_max = USEC_PER_SEC;
static int reset_max = 3600 * MSEC_PER_SEC;
static int segments_max = 65535;
static int delay_max = USEC_PER_SEC / 2;	/* RFC 1122, 4.2.3.2 */

#define TCP_AAD_SYSCTL(member, least, most) {				\
	.procname	= "tcp_aad_" #member,				\
	.data		= (void *)offsetof(struct tcp_aad_params, member), \
	.maxlen		= sizeof(int),					\
	.mode		= 0644,						\
	.proc_handler	= proc_dointvec_minmax,				\
	.extra1		= least,					\
	.extra2		= most,						\
}

static const struct ctl_table tcp_aad_table[] = {
	TCP_AAD_SYSCTL(alpha_percent, SYSCTL_ZERO, SYSCTL_ONE_HUNDRED),
	TCP_AAD_SYSCTL(beta_percent, SYSCTL_ONE, &beta_max),
	TCP_AAD_SYSCTL(min_iat_us, SYSCTL_ZERO, &min_iat_max),
	TCP_AAD_SYSCTL(reset_ms, SYSCTL_ONE, &reset_max),
	TCP_AAD_SYSCTL(segments, SYSCTL_ONE, &segments_max),
	TCP_AAD_SYSCTL(max_delay_us, SYSCTL_ONE, &delay_max),
};

static int tcp_aad_sysctl_register(struct net *net, struct tcp_aad_net *an)
{
	struct ctl_table *table;
	int i;

	table = kmemdup(tcp_aad_table, sizeof(tcp_aad_table), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(tcp_aad_table); i++)
		table[i].data = (void *)&an->params + (size_t)table[i].data;

	an->sysctl = register_net_sysctl_sz(net, "net/ipv4", table,
					    ARRAY_SIZE(tcp_aad_table));
	if (!an->sysctl) {
		kfree(table);
		return -ENOMEM;
	}
	return 0;
}

static void tcp_aad_sysctl_unregister(struct tcp_aad_net *an)
{
	const struct ctl_table *table = an->sysctl->ctl_table_arg;

	unregister_net_sysctl_table(an->sysctl);
	kfree(table);
}
#else
static int tcp_aad_sysctl_register(struct net *net, struct tcp_aad_net *an)
{
	return 0;
}

static void tcp_aad_sysctl_unregister(struct tcp_aad_net *an)
{
}
#endif

static int __net_init tcp_aad_net_init(struct net *net)
{
	struct tcp_aad_net *an = net_generic(net, tcp_aad_net_id);

	an->params = tcp_aad_default;
	return tcp_aad_sysctl_register(net, an);
}

static void __net_exit tcp_aad_net_exit(struct net *net)
{
	tcp_aad_sysctl_unregister(net_generic(net, tcp_aad_net_id));
}

static struct pernet_operations tcp_aad_net_ops = {
	.init	= tcp_aad_net_init,
	.exit	= tcp_aad_net_exit,
	.id	= &tcp_aad_net_id,
	.size	= sizeof(struct tcp_aad_net),
};

static int __init tcp_aad_register(void)
{
	int ret;

	TCP_ACKPOL_CHECK_PRIV(struct tcp_aad);

	ret = register_pernet_subsys(&tcp_aad_net_ops);
	if (ret)
		return ret;

	ret = tcp_register_ackpol(&tcp_aad);
	if (ret)
		unregister_pernet_subsys(&tcp_aad_net_ops);
	return ret;
}

static void __exit tcp_aad_unregister(void)
{
	tcp_unregister_ackpol(&tcp_aad);
	unregister_pernet_subsys(&tcp_aad_net_ops);
}

module_init(tcp_aad_register);
module_exit(tcp_aad_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP aggregation aware delayed acknowledgment (TCP-AAD)");
MODULE_ALIAS_TCP_ACKPOL("aad");
