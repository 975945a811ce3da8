// SPDX-License-Identifier: GPL-2.0-only
/*
 * A sample of a congestion control, built outside of the kernel's tree
 *
 * "aimd" adds increase segments to cwnd per round trip, and keeps keep_percent
 * of it after a loss.  Reno is aimd with 1 and 50.  Chiu and Jain, "Analysis of
 * the increase and decrease algorithms for congestion avoidance in computer
 * networks", 1989.
 */

#include <linux/module.h>
#include <linux/moduleparam.h>
#include <net/tcp.h>

static unsigned int increase = 2;
module_param(increase, uint, 0644);
MODULE_PARM_DESC(increase, "segments by which cwnd grows per round trip");

static unsigned int keep_percent = 80;
module_param(keep_percent, uint, 0644);
MODULE_PARM_DESC(keep_percent, "percentage of cwnd that is kept after a loss");

static void tcp_aimd_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 per_segment;

	if (!tcp_is_cwnd_limited(sk))
		return;

	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}

	/* cwnd grows by a segment whenever this many have been acknowledged */
	per_segment = tcp_snd_cwnd(tp) / max(READ_ONCE(increase), 1U);
	tcp_cong_avoid_ai(tp, max(per_segment, 1U), acked);
}

static u32 tcp_aimd_ssthresh(struct sock *sk)
{
	u64 kept = (u64)tcp_snd_cwnd(tcp_sk(sk)) * READ_ONCE(keep_percent);

	return max_t(u32, div_u64(kept, 100), 2U);
}

static struct tcp_congestion_ops tcp_aimd __read_mostly = {
	.ssthresh	= tcp_aimd_ssthresh,
	.cong_avoid	= tcp_aimd_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.name		= "aimd",
	.owner		= THIS_MODULE,
};

static int __init tcp_aimd_register(void)
{
	return tcp_register_congestion_control(&tcp_aimd);
}

static void __exit tcp_aimd_unregister(void)
{
	tcp_unregister_congestion_control(&tcp_aimd);
}

module_init(tcp_aimd_register);
module_exit(tcp_aimd_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP AIMD congestion control, a sample");
