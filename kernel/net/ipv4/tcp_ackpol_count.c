// SPDX-License-Identifier: GPL-2.0-only
/*
 * Baselines: an ACK for every segment, and for every n-th
 *
 * "every" is the receiver that never delays an ACK, which RFC 5681, section
 * 4.2, allows.  It shows what delayed ACKs save, and cost.
 *
 * "count" acknowledges every tcp_ack_count-th segment.  The rest of a burst
 * that is no multiple of it waits until tcp_ack_count_delay_us after its first
 * segment arrived: a timer that each arrival restarts would have no bound.
 * It knows nothing about the path: a sender whose congestion window is smaller
 * stands still until the timer, and bursts follow large ACKs.  That thinner
 * ACKs pay over 802.11 all the same was shown early by
 *   E. Altman, T. Jimenez, "Novel delayed ACK techniques for improving TCP
 *   performance in multihop wireless networks", PWC 2003.
 *
 * A segment counts whatever its size; Linux' own rule counts full ones.  What
 * GRO merged arrives as one: "every" has one ACK for it, and "count" adds all
 * of its segments, so that one ACK may cover more than n.
 */

#include <linux/module.h>
#include <linux/sysctl.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/tcp_ackpol.h>

/* What the sysctls set, per network namespace */
struct tcp_count_params {
	int segs;	/* an ACK; 8 is four times what RFC 5681 asks for */
	int delay_us;	/* 40 ms is Linux' own least delay, TCP_DELACK_MIN */
};

static const struct tcp_count_params tcp_count_default = {
	.segs		= 8,
	.delay_us	= 40 * USEC_PER_MSEC,
};

struct tcp_count_net {
	struct tcp_count_params params;
	struct ctl_table_header *sysctl;
};

static unsigned int tcp_count_net_id __read_mostly;

static const struct tcp_count_params *tcp_count_params(const struct sock *sk)
{
	const struct tcp_count_net *cn = net_generic(sock_net(sk),
						     tcp_count_net_id);

	return &cn->params;
}

static u32 tcp_every_ack_delay_us(struct sock *sk)
{
	return 0;
}

static void tcp_every_get_info(const struct sock *sk,
			       union tcp_ackpol_state *info)
{
	info->count.segs = 1;
}

static u32 tcp_count_ack_delay_us(struct sock *sk)
{
	const struct tcp_count_params *params = tcp_count_params(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 due_us;

	if (tp->ackpol.segs >= READ_ONCE(params->segs))
		return 0;

	due_us = tp->ackpol.first_us + READ_ONCE(params->delay_us);
	if (due_us <= tp->ackpol.arrival_us)
		return 0;
	return due_us - tp->ackpol.arrival_us;
}

static void tcp_count_get_info(const struct sock *sk,
			       union tcp_ackpol_state *info)
{
	info->count.segs = READ_ONCE(tcp_count_params(sk)->segs);
}

static struct tcp_ackpol_ops tcp_every __read_mostly = {
	.ack_delay_us	= tcp_every_ack_delay_us,
	.get_info	= tcp_every_get_info,
	.name		= "every",
	.owner		= THIS_MODULE,
};

static struct tcp_ackpol_ops tcp_count __read_mostly = {
	.ack_delay_us	= tcp_count_ack_delay_us,
	.get_info	= tcp_count_get_info,
	.name		= "count",
	.owner		= THIS_MODULE,
};

static int segs_max = 65535;
static int delay_max = USEC_PER_SEC / 2;	/* RFC 1122, 4.2.3.2 */

static const struct ctl_table tcp_count_table[] = {
	TCP_ACKPOL_SYSCTL("tcp_ack_count", struct tcp_count_params, segs,
			  SYSCTL_ONE, &segs_max),
	TCP_ACKPOL_SYSCTL("tcp_ack_count_delay_us", struct tcp_count_params,
			  delay_us, SYSCTL_ONE, &delay_max),
};

static int __net_init tcp_count_net_init(struct net *net)
{
	struct tcp_count_net *cn = net_generic(net, tcp_count_net_id);

	cn->params = tcp_count_default;
	cn->sysctl = tcp_ackpol_register_sysctl(net, tcp_count_table,
						ARRAY_SIZE(tcp_count_table),
						&cn->params);
	return PTR_ERR_OR_ZERO(cn->sysctl);
}

static void __net_exit tcp_count_net_exit(struct net *net)
{
	struct tcp_count_net *cn = net_generic(net, tcp_count_net_id);

	tcp_ackpol_unregister_sysctl(cn->sysctl);
}

static struct pernet_operations tcp_count_net_ops = {
	.init	= tcp_count_net_init,
	.exit	= tcp_count_net_exit,
	.id	= &tcp_count_net_id,
	.size	= sizeof(struct tcp_count_net),
};

static int __init tcp_count_register(void)
{
	int ret;

	ret = register_pernet_subsys(&tcp_count_net_ops);
	if (ret)
		return ret;

	ret = tcp_register_ackpol(&tcp_every);
	if (ret)
		goto unregister_subsys;

	ret = tcp_register_ackpol(&tcp_count);
	if (ret)
		goto unregister_every;

	return 0;

unregister_every:
	tcp_unregister_ackpol(&tcp_every);
unregister_subsys:
	unregister_pernet_subsys(&tcp_count_net_ops);
	return ret;
}

static void __exit tcp_count_unregister(void)
{
	tcp_unregister_ackpol(&tcp_count);
	tcp_unregister_ackpol(&tcp_every);
	unregister_pernet_subsys(&tcp_count_net_ops);
}

module_init(tcp_count_register);
module_exit(tcp_count_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP acknowledgments of every, and of every n-th segment");
MODULE_ALIAS_TCP_ACKPOL("every");
MODULE_ALIAS_TCP_ACKPOL("count");
