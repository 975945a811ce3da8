// SPDX-License-Identifier: GPL-2.0-only
/*
 * A sample of an acknowledgment policy, built outside of the kernel's tree
 *
 * "fixed" sends each ACK delay_us after the first segment that it acknowledges
 * has arrived.  It is the delayed ACK of RFC 1122 without the rule of two
 * segments: too long a delay stalls senders whose window is small.
 */

#include <linux/module.h>
#include <linux/moduleparam.h>
#include <net/tcp_ackpol.h>

/* RFC 1122, 4.2.3.2: a delay must be less than 0.5 s */
#define TCP_FIXED_DELAY_US_MAX	499999

static unsigned int delay_us = 5000;

static int tcp_fixed_set_delay(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 0, TCP_FIXED_DELAY_US_MAX);
}

static const struct kernel_param_ops tcp_fixed_delay_ops = {
	.set	= tcp_fixed_set_delay,
	.get	= param_get_uint,
};

module_param_cb(delay_us, &tcp_fixed_delay_ops, &delay_us, 0644);
MODULE_PARM_DESC(delay_us, "from a first segment to its ACK; 0 to 499999");

static u32 tcp_fixed_ack_delay_us(struct sock *sk)
{
	const struct tcp_ackpol *ap = tcp_ackpol(sk);
	u64 due_us = ap->first_us + READ_ONCE(delay_us);

	/* The answer counts from the last arrival */
	return due_us > ap->arrival_us ? due_us - ap->arrival_us : 0;
}

static struct tcp_ackpol_ops tcp_fixed __read_mostly = {
	.ack_delay_us	= tcp_fixed_ack_delay_us,
	.name		= "fixed",
	.owner		= THIS_MODULE,
};

static int __init tcp_fixed_register(void)
{
	return tcp_register_ackpol(&tcp_fixed);
}

static void __exit tcp_fixed_unregister(void)
{
	tcp_unregister_ackpol(&tcp_fixed);
}

module_init(tcp_fixed_register);
module_exit(tcp_fixed_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP acknowledgments after a fixed delay, a sample");
MODULE_ALIAS_TCP_ACKPOL("fixed");
