// SPDX-License-Identifier: GPL-2.0-only
/* Pluggable TCP acknowledgment policies: inet_diag */

#include <linux/inet_diag.h>
#include <net/netlink.h>
#include <net/tcp.h>

#include "tcp_ackpol_core.h"

static int tcp_ackpol_put_state(struct sock *sk, struct sk_buff *skb)
{
	struct tcp_ackpol *ap = tcp_ackpol(sk);
	struct nlattr *nest;
	u64 now_us, due_us;

	if (nla_put_u32(skb, TCP_ACKPOL_A_SEGS, ap->segs))
		return -EMSGSIZE;

	if (ap->delay_us < TCP_ACKPOL_AS_DEFAULT &&
	    nla_put_u32(skb, TCP_ACKPOL_A_DELAY_US, ap->delay_us))
		return -EMSGSIZE;

	if (ap->previous_us &&
	    nla_put_u32(skb, TCP_ACKPOL_A_IAT_US, tcp_ackpol_iat_us(ap)))
		return -EMSGSIZE;

	if (ap->deadline_us) {
		now_us = tcp_clock_us();
		due_us = max(ap->deadline_us, now_us) - now_us;
		if (nla_put_u32(skb, TCP_ACKPOL_A_DUE_US, due_us))
			return -EMSGSIZE;
	}

	if (!ap->ops->get_info)
		return 0;

	nest = nla_nest_start(skb, TCP_ACKPOL_A_STATE);
	if (!nest || ap->ops->get_info(sk, skb))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* The lock is held so that name and state belong to the same policy. A
 * listening socket has no state, and inet_diag calls this under a spinlock for
 * it.
 */
static int tcp_ackpol_put(struct sock *sk, struct sk_buff *skb)
{
	char name[TCP_ACKPOL_NAME_MAX];
	bool slow;
	int ret;

	if (inet_sk_state_load(sk) == TCP_LISTEN) {
		tcp_ackpol_get_name(sk, name);
		return nla_put_string(skb, TCP_ACKPOL_A_NAME, name);
	}

	slow = lock_sock_fast(sk);
	ret = nla_put_string(skb, TCP_ACKPOL_A_NAME,
			     tcp_ackpol_name(tcp_ackpol(sk) ?
					     tcp_ackpol(sk)->ops : NULL));
	if (!ret && tcp_ackpol(sk))
		ret = tcp_ackpol_put_state(sk, skb);
	unlock_sock_fast(sk, slow);

	return ret;
}

/**
 * tcp_ackpol_put_info() - report the policy of a socket and its state
 * @sk: socket
 * @skb: inet_diag message; INET_DIAG_ACKPOL is added if there is a policy
 *
 * Return: 0 or -EMSGSIZE.
 */
int tcp_ackpol_put_info(struct sock *sk, struct sk_buff *skb)
{
	struct nlattr *nest;

	if (!READ_ONCE(tcp_sk(sk)->ackpol))
		return 0;

	nest = nla_nest_start(skb, INET_DIAG_ACKPOL);
	if (!nest)
		return -EMSGSIZE;

	if (tcp_ackpol_put(sk, skb)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}

	nla_nest_end(skb, nest);
	return 0;
}
EXPORT_SYMBOL_GPL(tcp_ackpol_put_info);

/* The policy is known only under the lock, so this is the maximum */
size_t tcp_ackpol_info_size(void)
{
	return nla_total_size(0) +			/* INET_DIAG_ACKPOL */
	       nla_total_size(TCP_ACKPOL_NAME_MAX) +
	       4 * nla_total_size(sizeof(u32)) +
	       nla_total_size(TCP_ACKPOL_INFO_MAX);
}
EXPORT_SYMBOL_GPL(tcp_ackpol_info_size);
