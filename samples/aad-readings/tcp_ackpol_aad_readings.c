// SPDX-License-Identifier: GPL-2.0-only
/*
 * Further readings of TCP-AAD
 *
 * The pseudocode (policy "aad") and the kernel listings (policy "aad-listing")
 * of
 *   A. Avkhadeev, "Performance evaluation of delayed acknowledgment scheme of
 *   TCP over Wi-Fi", thesis, Innopolis University, 2025
 * differ, and neither has all its measured values.  Each policy here is what
 * the measured kernel may have been instead:
 *
 * aad-at-read	the timer replaces the rule of two segments on arrival, but
 *		reading two segments still sends an ACK
 * aad-no-quick	as "aad-listing", without TCP's quick ACK mode, which listing
 *		4.1 no longer requests
 * aad-uptime	as "aad-listing" once the machine has been up for 71.6 minutes:
 *		listing 4.1 subtracts a time of 32 bits from one of 64, so all
 *		inter-arrival times (IAT) exceed 2^32 us and T is its maximum
 * aad-ns3	the model that the thesis ports, for ns-3: IATs of less than
 *		50 us do not count for the minimum, but the last IAT may be one
 */

#include <linux/math64.h>
#include <linux/module.h>
#include <net/tcp.h>
#include <net/tcp_ackpol.h>

#define AAD_ALPHA_PERCENT	75
#define AAD_BETA_PERCENT	150
#define AAD_RESET_US		USEC_PER_SEC
#define AAD_SEGMENTS		2
#define AAD_MAX_DELAY_US	500000
#define AAD_MIN_IAT_US		200
#define AAD_NS3_MIN_IAT_US	50

struct aad_readings {
	u64 reset_us;		/* time of the last reset of min_us */
	u32 min_us;		/* minimum IAT since, or TCP_ACKPOL_IAT_NONE */
	u32 last_us;		/* last IAT, or TCP_ACKPOL_IAT_NONE */
};

static void aad_readings_init(struct sock *sk)
{
	struct aad_readings *aad = tcp_ackpol_priv(sk);

	aad->min_us = TCP_ACKPOL_IAT_NONE;
	aad->last_us = TCP_ACKPOL_IAT_NONE;
}

static void aad_readings_reset(struct aad_readings *aad, u64 now_us)
{
	if (now_us < aad->reset_us + AAD_RESET_US)
		return;
	aad->min_us = TCP_ACKPOL_IAT_NONE;
	aad->reset_us = now_us;
}

static void aad_readings_data_recv(struct sock *sk)
{
	struct aad_readings *aad = tcp_ackpol_priv(sk);
	const struct tcp_ackpol *ap = tcp_ackpol(sk);
	u32 iat_us = tcp_ackpol_iat_us(ap);

	aad_readings_reset(aad, ap->arrival_us);
	if (iat_us == TCP_ACKPOL_IAT_NONE || iat_us <= AAD_MIN_IAT_US)
		return;
	aad->last_us = iat_us;
	aad->min_us = min(aad->min_us, iat_us);
}

/* T, after the last of the segments that wait for their ACK */
static u32 aad_readings_ack_delay_us(struct sock *sk)
{
	const struct aad_readings *aad = tcp_ackpol_priv(sk);
	u64 delay;

	if (tcp_ackpol(sk)->segs < AAD_SEGMENTS ||
	    aad->min_us == TCP_ACKPOL_IAT_NONE)
		return AAD_MAX_DELAY_US;

	delay = (u64)aad->min_us * AAD_ALPHA_PERCENT +
		(u64)aad->last_us * (100 - AAD_ALPHA_PERCENT);
	return min_t(u64, div_u64(delay * AAD_BETA_PERCENT, 100 * 100),
		     AAD_MAX_DELAY_US);
}

/* TCP's rule for two segments, as in __tcp_ack_snd_check() */
static bool aad_readings_two_segments(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tcp_ackpol_exceeds(sk, 1) &&
	       (tp->rcv_nxt - tp->copied_seq < sk->sk_rcvlowat ||
		__tcp_select_window(sk) >= tp->rcv_wnd);
}

static struct tcp_ackpol_ops aad_at_read __read_mostly = {
	.ack_delay_us	= aad_readings_ack_delay_us,
	.data_recv	= aad_readings_data_recv,
	.init		= aad_readings_init,
	.flags		= TCP_ACKPOL_F_KEEP_RULES,
	.name		= "aad-at-read",
	.owner		= THIS_MODULE,
};

static void aad_no_quick_data_recv(struct sock *sk)
{
	inet_csk(sk)->icsk_ack.quick = 0;
	aad_readings_data_recv(sk);
}

static u32 aad_no_quick_ack_delay_us(struct sock *sk)
{
	if (aad_readings_two_segments(sk))
		return 0;
	return aad_readings_ack_delay_us(sk);
}

static struct tcp_ackpol_ops aad_no_quick __read_mostly = {
	.ack_delay_us	= aad_no_quick_ack_delay_us,
	.data_recv	= aad_no_quick_data_recv,
	.init		= aad_readings_init,
	.flags		= TCP_ACKPOL_F_KEEP_RULES,
	.name		= "aad-no-quick",
	.owner		= THIS_MODULE,
};

static u32 aad_uptime_ack_delay_us(struct sock *sk)
{
	return aad_readings_two_segments(sk) ? 0 : AAD_MAX_DELAY_US;
}

static struct tcp_ackpol_ops aad_uptime __read_mostly = {
	.ack_delay_us	= aad_uptime_ack_delay_us,
	.flags		= TCP_ACKPOL_F_KEEP_RULES,
	.name		= "aad-uptime",
	.owner		= THIS_MODULE,
};

static void aad_ns3_data_recv(struct sock *sk)
{
	struct aad_readings *aad = tcp_ackpol_priv(sk);
	const struct tcp_ackpol *ap = tcp_ackpol(sk);

	aad->last_us = tcp_ackpol_iat_us(ap);
	if (aad->last_us == TCP_ACKPOL_IAT_NONE ||
	    aad->last_us < AAD_NS3_MIN_IAT_US)
		return;
	aad_readings_reset(aad, ap->arrival_us);
	aad->min_us = min(aad->min_us, aad->last_us);
}

static struct tcp_ackpol_ops aad_ns3 __read_mostly = {
	.ack_delay_us	= aad_readings_ack_delay_us,
	.data_recv	= aad_ns3_data_recv,
	.init		= aad_readings_init,
	.name		= "aad-ns3",
	.owner		= THIS_MODULE,
};

static struct tcp_ackpol_ops *const aad_readings[] = {
	&aad_at_read, &aad_no_quick, &aad_uptime, &aad_ns3,
};

static int __init aad_readings_register(void)
{
	int i, ret;

	TCP_ACKPOL_CHECK_PRIV(struct aad_readings);

	for (i = 0; i < ARRAY_SIZE(aad_readings); i++) {
		ret = tcp_register_ackpol(aad_readings[i]);
		if (ret)
			goto unregister;
	}
	return 0;

unregister:
	while (i--)
		tcp_unregister_ackpol(aad_readings[i]);
	return ret;
}

static void __exit aad_readings_unregister(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(aad_readings); i++)
		tcp_unregister_ackpol(aad_readings[i]);
}

module_init(aad_readings_register);
module_exit(aad_readings_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Readings of TCP aggregation aware delayed acknowledgment");
MODULE_ALIAS_TCP_ACKPOL("aad-at-read");
MODULE_ALIAS_TCP_ACKPOL("aad-no-quick");
MODULE_ALIAS_TCP_ACKPOL("aad-uptime");
MODULE_ALIAS_TCP_ACKPOL("aad-ns3");
