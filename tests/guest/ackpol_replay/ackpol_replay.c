// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replays arrivals to two ACK policies, and compares what they decide
 *
 *   modprobe ackpol_replay policies=aad,bpf_aad
 *   cat arrivals >/proc/ackpol_replay; cat /proc/ackpol_replay
 *
 * Each policy has a socket, which is never connected.  For each struct arrival
 * written, the members of the sockets that policies read are set, and the hooks
 * are called in the order of tcp_ackpol.c.  The first policy's delays decide
 * when ACKs are sent.  Reading returns counts, and the first difference.
 */

#include <linux/module.h>
#include <linux/net.h>
#include <linux/proc_fs.h>
#include <linux/uaccess.h>
#include <net/tcp.h>
#include <net/tcp_ackpol.h>

#define DELACK_US	(40 * USEC_PER_MSEC)

static char *policies[2];
static int count;
module_param_array(policies, charp, &count, 0);
MODULE_PARM_DESC(policies, "names of two policies");

enum {
	OUT_OF_ORDER	= BIT(0),	/* data is missing: it is acknowledged */
	TIMESTAMPS	= BIT(1),
	ANSWERED	= BIT(2),	/* data with an ACK is sent afterwards */
	CONNECTED	= BIT(3),	/* the first data of another connection */
};

struct arrival {
	u64	us;
	u32	bytes;
	u32	rcv_rtt_us;	/* receiver's estimate */
	u32	srtt_us;	/* sender's */
	u16	segs;
	u16	mss;
	u32	flags;
	u32	unused;
};

static struct socket *socks[2];
static u64 due_us;		/* time of the pending ACK, 0 if there is none */

static unsigned long arrivals, decisions, acks, nonzero, as_default, delack;
static unsigned long differences;
static char first_difference[160];

/* An RB tree that is not empty */
static struct rb_node some_node;

static struct tcp_ackpol *state(int i)
{
	return tcp_ackpol(socks[i]->sk);
}

static void compare(u64 us, const char *hook, u32 delay0, u32 delay1)
{
	if (delay0 == delay1 &&
	    !memcmp(state(0)->priv, state(1)->priv, sizeof(state(0)->priv)))
		return;

	if (!differences++)
		snprintf(first_difference, sizeof(first_difference),
			 "arrival %lu at %llu us: %s: %u and %u, state %*phN and %*phN",
			 arrivals, us, hook, delay0, delay1, 16,
			 state(0)->priv, 16, state(1)->priv);
}

static void send_ack(u64 us)
{
	int i;

	for (i = 0; i < 2; i++) {
		struct sock *sk = socks[i]->sk;
		struct tcp_ackpol *ap = state(i);

		if (ap->ops->ack_sent)
			ap->ops->ack_sent(sk);
		ap->segs = 0;
		ap->first_us = 0;
		tcp_sk(sk)->rcv_wup = tcp_sk(sk)->rcv_nxt;
	}
	acks++;
	due_us = 0;
	compare(us, "ack_sent", 0, 0);
}

/* As after tcp_ackpol_attach(), before the handshake */
static void connect_anew(int i)
{
	struct tcp_ackpol *ap = state(i);

	if (ap->ops->release)
		ap->ops->release(socks[i]->sk);
	memset(ap->priv, 0, sizeof(ap->priv));
	ap->arrival_us = 0;
	ap->previous_us = 0;
	ap->gap_us = 0;
	tcp_sk(socks[i]->sk)->srtt_us = 0;
	if (ap->ops->init)
		ap->ops->init(socks[i]->sk);
}

static void arrive(int i, const struct arrival *arrival)
{
	struct sock *sk = socks[i]->sk;
	struct tcp_ackpol *ap = state(i);
	struct tcp_sock *tp = tcp_sk(sk);

	inet_csk(sk)->icsk_ack.rcv_mss = arrival->mss;
	tp->rcv_rtt_est.rtt_us = arrival->rcv_rtt_us << 3;
	tp->srtt_us = arrival->srtt_us << 3;
	tp->rx_opt.tstamp_ok = !!(arrival->flags & TIMESTAMPS);
	tp->out_of_order_queue.rb_node = NULL;
	if (arrival->flags & OUT_OF_ORDER)
		tp->out_of_order_queue.rb_node = &some_node;
	else
		tp->rcv_nxt += arrival->bytes;

	ap->previous_us = ap->arrival_us;
	ap->arrival_us = arrival->us;
	if (!ap->segs)
		ap->first_us = arrival->us;
	ap->segs += max_t(u16, 1, arrival->segs);
	if (ap->arrival_us - ap->previous_us >= ap->gap_us && ap->ops->data_recv)
		ap->ops->data_recv(sk);
}

/* As tcp_ackpol_ask() */
static u32 ask(int i)
{
	struct tcp_ackpol *ap = state(i);
	u32 delay_us;

	ap->busy = true;
	delay_us = ap->ops->ack_delay_us(socks[i]->sk);
	ap->busy = false;
	return delay_us;
}

static void decide(const struct arrival *arrival)
{
	u32 delay_us[2];
	int i;

	for (i = 0; i < 2; i++)
		delay_us[i] = ask(i);
	decisions++;
	compare(arrival->us, "ack_delay_us", delay_us[0], delay_us[1]);

	switch (delay_us[0]) {
	case 0:
		send_ack(arrival->us);
		break;
	case TCP_ACKPOL_AS_DEFAULT:
		as_default++;
		if (tcp_ackpol_exceeds(socks[0]->sk, 1))
			send_ack(arrival->us);
		else
			due_us = arrival->us + DELACK_US;
		break;
	case TCP_ACKPOL_DELACK:
		delack++;
		due_us = arrival->us + DELACK_US;
		break;
	default:
		nonzero++;
		due_us = arrival->us + delay_us[0];
	}
}

static void replay_one(const struct arrival *arrival)
{
	if (due_us && due_us <= arrival->us)
		send_ack(due_us);

	if (arrival->flags & CONNECTED) {
		if (due_us)
			send_ack(due_us);
		connect_anew(0);
		connect_anew(1);
	}

	arrivals++;
	arrive(0, arrival);
	arrive(1, arrival);
	compare(arrival->us, "data_recv", 0, 0);

	if (arrival->flags & OUT_OF_ORDER)
		send_ack(arrival->us);
	else
		decide(arrival);
	if (arrival->flags & ANSWERED)
		send_ack(arrival->us);
}

static ssize_t replay_write(struct file *file, const char __user *from,
			    size_t size, loff_t *position)
{
	struct arrival arrival;
	size_t done;
	int i;

	for (done = 0; done + sizeof(arrival) <= size; done += sizeof(arrival)) {
		if (copy_from_user(&arrival, from + done, sizeof(arrival)))
			return -EFAULT;
		for (i = 0; i < 2; i++)
			lock_sock_nested(socks[i]->sk, i ? SINGLE_DEPTH_NESTING : 0);
		replay_one(&arrival);
		for (i = 0; i < 2; i++)
			release_sock(socks[i]->sk);
		cond_resched();
	}
	return done ?: -EINVAL;
}

static ssize_t replay_read(struct file *file, char __user *to, size_t size,
			   loff_t *position)
{
	char text[512];
	int len;

	len = scnprintf(text, sizeof(text),
			"arrivals %lu\ndecisions %lu\nacks %lu\nnonzero %lu\n"
			"as_default %lu\ndelack %lu\ndifferences %lu\n%s\n",
			arrivals, decisions, acks, nonzero, as_default, delack,
			differences, first_difference);
	return simple_read_from_buffer(to, size, position, text, len);
}

static const struct proc_ops replay_ops = {
	.proc_read	= replay_read,
	.proc_write	= replay_write,
};

static void close_all(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (!socks[i])
			continue;
		tcp_sk(socks[i]->sk)->out_of_order_queue = RB_ROOT;
		sock_release(socks[i]);
	}
}

static int open_all(void)
{
	int i, ret;

	for (i = 0; i < 2; i++) {
		ret = sock_create_kern(&init_net, PF_INET, SOCK_STREAM,
				       IPPROTO_TCP, &socks[i]);
		if (ret)
			return ret;
		ret = sock_common_setsockopt(socks[i], SOL_TCP, TCP_ACK_POLICY,
					     KERNEL_SOCKPTR(policies[i]),
					     strlen(policies[i]));
		if (ret)
			return ret;
		if (!state(i))
			return -EINVAL;
	}
	return 0;
}

static int __init replay_init(void)
{
	int ret;

	if (count != 2)
		return -EINVAL;

	ret = open_all();
	if (!ret && !proc_create("ackpol_replay", 0600, NULL, &replay_ops))
		ret = -ENOMEM;
	if (ret)
		close_all();
	return ret;
}

static void __exit replay_exit(void)
{
	remove_proc_entry("ackpol_replay", NULL);
	close_all();
}

module_init(replay_init);
module_exit(replay_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Replays arrivals to two ACK policies");
