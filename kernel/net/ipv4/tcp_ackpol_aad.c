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
 * This is policy "aad", the pseudocode of
 *   [1] A. Avkhadeev, "Performance evaluation of delayed acknowledgment scheme
 *       of TCP over Wi-Fi", thesis, Innopolis University, 2025, listing 3.1,
 * which the kernel patch there (listings 4.1 to 4.5) follows only in part: it
 * puts T in the place of Linux' delay and lets all else be, so two full
 * segments are acknowledged at once.  That reading is policy "aad-listing".
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

static u32 tcp_aad_ack_delay_us(struct sock *sk)
{
	return tcp_aad_delay_us(tcp_ackpol_priv(sk), tcp_aad_params(sk),
				tcp_sk(sk)->ackpol.segs);
}

static u32 tcp_aad_listing_ack_delay_us(struct sock *sk)
{
	if (tcp_ackpol_exceeds(sk, 1))
		return 0;

	return tcp_aad_ack_delay_us(sk);
}

static void tcp_aad_get_info(const struct sock *sk,
			     union tcp_ackpol_state *info)
{
	const struct tcp_aad *aad = tcp_ackpol_priv(sk);

	BUILD_BUG_ON(TCP_AAD_INF != TCP_ACKPOL_US_NONE);

	info->aad.iat_min_us = aad->iat_min_us;
	info->aad.iat_curr_us = aad->iat_curr_us;
}

static struct tcp_ackpol_ops tcp_aad __read_mostly = {
	.ack_delay_us	= tcp_aad_ack_delay_us,
	.data_recv	= tcp_aad_data_recv,
	.get_info	= tcp_aad_get_info,
	.init		= tcp_aad_init,
	.name		= "aad",
	.owner		= THIS_MODULE,
};

static struct tcp_ackpol_ops tcp_aad_listing __read_mostly = {
	.ack_delay_us	= tcp_aad_listing_ack_delay_us,
	.data_recv	= tcp_aad_data_recv,
	.flags		= TCP_ACKPOL_F_LINUX_RULES,
	.get_info	= tcp_aad_get_info,
	.init		= tcp_aad_init,
	.name		= "aad-listing",
	.owner		= THIS_MODULE,
};

static const struct tcp_aad_params tcp_aad_default = TCP_AAD_PARAMS_DEFAULT;

static int beta_max = 10000;		/* 100 times the weighted IAT */
static int min_iat_max = USEC_PER_SEC;
static int reset_max = 3600 * MSEC_PER_SEC;
static int segments_max = 65535;
static int delay_max = USEC_PER_SEC / 2;	/* RFC 1122, 4.2.3.2 */

#define TCP_AAD_SYSCTL(member, least, most)				\
	TCP_ACKPOL_SYSCTL("tcp_aad_" #member, struct tcp_aad_params,	\
			  member, least, most)

static const struct ctl_table tcp_aad_table[] = {
	TCP_AAD_SYSCTL(alpha_percent, SYSCTL_ZERO, SYSCTL_ONE_HUNDRED),
	TCP_AAD_SYSCTL(beta_percent, SYSCTL_ONE, &beta_max),
	TCP_AAD_SYSCTL(min_iat_us, SYSCTL_ZERO, &min_iat_max),
	TCP_AAD_SYSCTL(reset_ms, SYSCTL_ONE, &reset_max),
	TCP_AAD_SYSCTL(segments, SYSCTL_ONE, &segments_max),
	TCP_AAD_SYSCTL(max_delay_us, SYSCTL_ONE, &delay_max),
};

static int __net_init tcp_aad_net_init(struct net *net)
{
	struct tcp_aad_net *an = net_generic(net, tcp_aad_net_id);

	an->params = tcp_aad_default;
	an->sysctl = tcp_ackpol_register_sysctl(net, tcp_aad_table,
						ARRAY_SIZE(tcp_aad_table),
						&an->params);
	return PTR_ERR_OR_ZERO(an->sysctl);
}

static void __net_exit tcp_aad_net_exit(struct net *net)
{
	struct tcp_aad_net *an = net_generic(net, tcp_aad_net_id);

	tcp_ackpol_unregister_sysctl(an->sysctl);
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
		goto unregister_subsys;

	ret = tcp_register_ackpol(&tcp_aad_listing);
	if (ret)
		goto unregister_aad;

	return 0;

unregister_aad:
	tcp_unregister_ackpol(&tcp_aad);
unregister_subsys:
	unregister_pernet_subsys(&tcp_aad_net_ops);
	return ret;
}

static void __exit tcp_aad_unregister(void)
{
	tcp_unregister_ackpol(&tcp_aad_listing);
	tcp_unregister_ackpol(&tcp_aad);
	unregister_pernet_subsys(&tcp_aad_net_ops);
}

module_init(tcp_aad_register);
module_exit(tcp_aad_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP aggregation aware delayed acknowledgment (TCP-AAD)");
MODULE_ALIAS_TCP_ACKPOL("aad");
MODULE_ALIAS_TCP_ACKPOL("aad-listing");
