// SPDX-License-Identifier: GPL-2.0-only
/*
 * Baselines: an ACK for every segment, and for every n-th
 *
 * "every" never delays an ACK, which RFC 5681, section 4.2, allows.  It shows
 * the benefit and the cost of delayed ACKs.
 *
 * "count" acknowledges every tcp_ack_count-th segment.  The remainder of a
 * burst is acknowledged tcp_ack_count_delay_us after its first segment arrived:
 * a timer that each arrival restarts would have no bound.  It does not adapt to
 * the path: a sender with a smaller congestion window stalls until the timer
 * fires, and large ACKs cause bursts.  That fewer ACKs improve throughput over
 * 802.11 nevertheless was shown by
 *   E. Altman, T. Jimenez, "Novel delayed ACK techniques for improving TCP
 *   performance in multihop wireless networks", PWC 2003.
 *
 * Segments of any size count; Linux's own rule counts full ones.  Segments
 * merged by GRO arrive together: "every" sends one ACK for them, and "count"
 * counts each of them, so that an ACK may acknowledge more than n.
 */

#include <linux/module.h>
#include <net/netlink.h>
#include <net/tcp_ackpol.h>

#include "tcp_ackpol_count.h"

static const struct tcp_count_params tcp_count_default =
	TCP_COUNT_PARAMS_DEFAULT;

static const struct tcp_ackpol_param tcp_count_param_list[] = {
	TCP_ACKPOL_PARAM("tcp_ack_count", 1, 65535),
	TCP_ACKPOL_PARAM("tcp_ack_count_delay_us", 1, USEC_PER_SEC / 2),
};

static struct tcp_ackpol_ops tcp_count;

static const struct tcp_count_params *tcp_count_params(const struct sock *sk)
{
	return tcp_ackpol_params(sk, &tcp_count);
}

static u32 tcp_every_ack_delay_us(struct sock *sk)
{
	return 0;
}

static u32 tcp_count_ack_delay_us(struct sock *sk)
{
	const struct tcp_ackpol *ap = tcp_ackpol(sk);

	return tcp_count_delay_us(tcp_count_params(sk), ap->segs, ap->first_us,
				  ap->arrival_us);
}

static int tcp_every_get_info(const struct sock *sk, struct sk_buff *skb)
{
	return nla_put_u32(skb, TCP_ACKPOL_COUNT_A_SEGS, 1);
}

static int tcp_count_get_info(const struct sock *sk, struct sk_buff *skb)
{
	return nla_put_u32(skb, TCP_ACKPOL_COUNT_A_SEGS,
			   READ_ONCE(tcp_count_params(sk)->segs));
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
	.params		= tcp_count_param_list,
	.defaults	= (const int *)&tcp_count_default,
	.nr_params	= ARRAY_SIZE(tcp_count_param_list),
	.name		= "count",
	.owner		= THIS_MODULE,
};

static int __init tcp_count_register(void)
{
	int ret;

	TCP_ACKPOL_CHECK_PARAMS(tcp_count_param_list, tcp_count_default);

	ret = tcp_register_ackpol(&tcp_every);
	if (ret)
		return ret;

	ret = tcp_register_ackpol(&tcp_count);
	if (ret)
		tcp_unregister_ackpol(&tcp_every);
	return ret;
}

static void __exit tcp_count_unregister(void)
{
	tcp_unregister_ackpol(&tcp_count);
	tcp_unregister_ackpol(&tcp_every);
}

module_init(tcp_count_register);
module_exit(tcp_count_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP acknowledgments of every, and of every n-th segment");
MODULE_ALIAS_TCP_ACKPOL("every");
MODULE_ALIAS_TCP_ACKPOL("count");
