/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TCP Small Queues: limit on a socket's data below TCP
 *
 * Linux allows the data of 1 ms at the socket's pacing rate, or of the time
 * that the device's driver sets: 8 ms for most Wi-Fi devices. A network
 * namespace or a socket can choose another time, a number of bytes or packets,
 * or no limit: C. A. Grazia et al., "Aggregating Without Bloating: Hard Times
 * for TCP on Wi-Fi", IEEE/ACM Transactions on Networking, 2022 (there: CoTSQ).
 */
#ifndef _NET_TCP_SMALL_QUEUE_H
#define _NET_TCP_SMALL_QUEUE_H

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sockptr.h>
#include <linux/tcp.h>
#include <linux/time64.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <uapi/linux/tcp.h>

struct ctl_table;

/* A limit is stored in one number, so that it changes atomically: the unit in
 * the lowest bits, the value above them. 0: not set.
 */
#define TCP_SMALL_QUEUE_UNIT_BITS	3
#define TCP_SMALL_QUEUE_TEXT_MAX	32

static inline u32 tcp_small_queue_choice(u32 unit, u32 limit)
{
	return limit << TCP_SMALL_QUEUE_UNIT_BITS | unit;
}

static inline u32 tcp_small_queue_unit(u32 choice)
{
	return choice & ((1 << TCP_SMALL_QUEUE_UNIT_BITS) - 1);
}

static inline u32 tcp_small_queue_limit(u32 choice)
{
	return choice >> TCP_SMALL_QUEUE_UNIT_BITS;
}

/* The limit of the socket, or else of its network namespace */
static inline u32 tcp_small_queue(const struct sock *sk)
{
	u32 own = READ_ONCE(tcp_sk(sk)->small_queue);

	return own ?: READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_small_queue);
}

/* Bytes sent in @time_us at @rate bytes per second, less than 2^64. The rate of
 * a socket without pacing is ~0UL.
 */
static inline u64 tcp_small_queue_time_bytes(u64 rate, u32 time_us)
{
	return div_u64(min(rate, BIT_ULL(43)) * time_us, USEC_PER_SEC);
}

/* Bytes that the socket sends in the time of its limit, or of the driver */
static inline unsigned long tcp_small_queue_credit(const struct sock *sk)
{
	unsigned long rate = READ_ONCE(sk->sk_pacing_rate);
	u32 choice = tcp_small_queue(sk);

	if (likely(tcp_small_queue_unit(choice) != TCP_SMALL_QUEUE_US))
		return rate >> READ_ONCE(sk->sk_pacing_shift);

	return min_t(u64, ULONG_MAX,
		     tcp_small_queue_time_bytes(rate,
						tcp_small_queue_limit(choice)));
}

/* The maximum burst with segmentation offload, in bytes */
static inline unsigned long tcp_small_queue_burst(const struct sock *sk)
{
	const struct net *net = sock_net(sk);
	u32 time_us = READ_ONCE(net->ipv4.sysctl_tcp_small_queue_burst_us);

	if (likely(!time_us))
		return tcp_small_queue_credit(sk);

	return min_t(u64, ULONG_MAX,
		     tcp_small_queue_time_bytes(READ_ONCE(sk->sk_pacing_rate),
						time_us));
}

/* @packets times @percent, at least one */
static inline u32 tcp_small_queue_scaled(u32 packets, u32 percent)
{
	return max_t(u32, div_u64((u64)packets * percent, 100), 1);
}

/* @packets times the ratio of the pacing rate to cwnd / srtt, as in
 * tcp_update_pacing_rate()
 */
static inline u32 tcp_small_queue_paced(const struct sock *sk, u32 packets)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct net *net = sock_net(sk);

	if (tcp_snd_cwnd(tp) < tp->snd_ssthresh / 2)
		return tcp_small_queue_scaled(packets,
			READ_ONCE(net->ipv4.sysctl_tcp_pacing_ss_ratio));
	return tcp_small_queue_scaled(packets,
			READ_ONCE(net->ipv4.sysctl_tcp_pacing_ca_ratio));
}

/* Memory of @packets packets like those of an skb with @truesize, in bytes */
static inline unsigned long
tcp_small_queue_packets_bytes(u32 packets, u32 truesize, u32 pcount)
{
	return min_t(u64, ULONG_MAX, div_u64((u64)packets * truesize,
					     max(pcount, 1U)));
}

int tcp_small_queue_set(struct sock *sk, sockptr_t optval, unsigned int optlen);
int tcp_small_queue_get(const struct sock *sk, sockptr_t optval,
			sockptr_t optlen);
int proc_tcp_small_queue(const struct ctl_table *table, int write, void *buffer,
			 size_t *lenp, loff_t *ppos);

#endif /* _NET_TCP_SMALL_QUEUE_H */
