// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP-AAD: aggregation aware delayed acknowledgment
 *
 * Wi-Fi sends frames in aggregates.  Segments of an aggregate arrive tens of
 * microseconds apart, the first segment of the next aggregate after a channel
 * access, hundreds of microseconds later.  An ACK sent in that gap acknowledges
 * a whole aggregate, and contends for the channel once instead of once every
 * two segments.
 *
 * The inter-arrival time (IAT) distinguishes the two cases.  IATs of up to
 * tcp_aad_min_iat_us are within an aggregate and are discarded.  Each arrival
 * restarts one timer, based on the minimum and the last of the other IATs:
 *
 *	T = (IAT_min * alpha + IAT_curr * (1 - alpha)) * beta
 *
 * Only the timer decides; the rule of two segments does not apply.  With fewer
 * than tcp_aad_segments pending, T is tcp_aad_max_delay_us.
 *
 * This is the pseudocode of
 *   A. Avkhadeev, "Performance evaluation of delayed acknowledgment scheme of
 *   TCP over Wi-Fi", thesis, Innopolis University, 2025, listing 3.1,
 * except for its maximum delay, 0.5 s after the last segment: TCP's bound on
 * the delay of an ACK is shorter and counts from the first segment, see
 * tcp_ackpol_latest_us().
 */

#include <linux/module.h>
#include <net/tcp_ackpol.h>

#include "tcp_ackpol_aad.h"

static const struct tcp_aad_params tcp_aad_default = TCP_AAD_PARAMS_DEFAULT;

static const struct tcp_ackpol_param tcp_aad_param_list[] = {
	TCP_ACKPOL_PARAM("tcp_aad_alpha_percent", 0, 100),
	/* up to 100 times the weighted IAT */
	TCP_ACKPOL_PARAM("tcp_aad_beta_percent", 1, 10000),
	TCP_ACKPOL_PARAM("tcp_aad_min_iat_us", 0, USEC_PER_SEC),
	TCP_ACKPOL_PARAM("tcp_aad_reset_ms", 1, 3600 * MSEC_PER_SEC),
	TCP_ACKPOL_PARAM("tcp_aad_segments", 1, 65535),
	TCP_ACKPOL_PARAM("tcp_aad_max_delay_us", 1, USEC_PER_SEC / 2),
};

static struct tcp_ackpol_ops tcp_aad;

static const struct tcp_aad_params *tcp_aad_params(const struct sock *sk)
{
	return tcp_ackpol_params(sk, &tcp_aad);
}

static void tcp_aad_init(struct sock *sk)
{
	tcp_aad_start(tcp_ackpol_priv(sk));
}

static void tcp_aad_data_recv(struct sock *sk)
{
	const struct tcp_ackpol *ap = tcp_ackpol(sk);

	BUILD_BUG_ON(TCP_AAD_INF != TCP_ACKPOL_IAT_NONE);

	tcp_aad_arrival(tcp_ackpol_priv(sk), tcp_aad_params(sk),
			ap->arrival_us, tcp_ackpol_iat_us(ap));
}

static u32 tcp_aad_ack_delay_us(struct sock *sk)
{
	return tcp_aad_delay_us(tcp_ackpol_priv(sk), tcp_aad_params(sk),
				tcp_ackpol(sk)->segs);
}

static struct tcp_ackpol_ops tcp_aad __read_mostly = {
	.ack_delay_us	= tcp_aad_ack_delay_us,
	.data_recv	= tcp_aad_data_recv,
	.init		= tcp_aad_init,
	.params		= tcp_aad_param_list,
	.defaults	= (const int *)&tcp_aad_default,
	.nr_params	= ARRAY_SIZE(tcp_aad_param_list),
	.name		= "aad",
	.owner		= THIS_MODULE,
};

static int __init tcp_aad_register(void)
{
	TCP_ACKPOL_CHECK_PRIV(struct tcp_aad);
	TCP_ACKPOL_CHECK_PARAMS(tcp_aad_param_list, tcp_aad_default);

	return tcp_register_ackpol(&tcp_aad);
}

static void __exit tcp_aad_unregister(void)
{
	tcp_unregister_ackpol(&tcp_aad);
}

module_init(tcp_aad_register);
module_exit(tcp_aad_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP aggregation aware delayed acknowledgment (TCP-AAD)");
MODULE_ALIAS_TCP_ACKPOL("aad");
