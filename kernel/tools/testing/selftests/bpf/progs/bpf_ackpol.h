/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an ACK policy in BPF needs of the kernel
 *
 * The types are declared here, with the members that the programs use, and not
 * taken from vmlinux.h: a kernel with a policy built in has the types of its
 * arithmetic there as well, which the programs include.  The offsets of members
 * are those of the running kernel (CO-RE).
 */
#ifndef _BPF_ACKPOL_H
#define _BPF_ACKPOL_H

typedef unsigned char u8, __u8;
typedef unsigned short u16, __u16, __be16;
typedef unsigned int u32, __u32, __be32, __wsum;
typedef unsigned long long u64, __u64;
typedef signed short s16, __s16;
typedef signed int s32, __s32;
typedef signed long long s64, __s64;

#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define NULL		((void *)0)
#define U32_MAX		((u32)~0U)
#define USEC_PER_MSEC	1000L
#define USEC_PER_SEC	1000000L
#define __must_check

#define READ_ONCE(x)	(*(const volatile typeof(x) *)&(x))
#define min_t(type, a, b) ({				\
	type __a = (a);					\
	type __b = (b);					\
							\
	__a < __b ? __a : __b; })
#define max_t(type, a, b) ({				\
	type __a = (a);					\
	type __b = (b);					\
							\
	__a > __b ? __a : __b; })
#define min(a, b)	min_t(typeof(a), a, b)
#define max(a, b)	max_t(typeof(a), a, b)

static inline u64 div_u64(u64 dividend, u32 divisor)
{
	return dividend / divisor;
}

static inline u64 div64_u64(u64 dividend, u64 divisor)
{
	return dividend / divisor;
}

#pragma clang attribute push(__attribute__((preserve_access_index)), \
			     apply_to = record)

struct rb_node;

struct rb_root {
	struct rb_node *rb_node;
};

struct sk_buff;

/* Complete, because libbpf takes no declaration for a structure of the kernel */
struct sock {
};

struct tcp_ackpol {
	u64 arrival_us;
	u64 previous_us;
	u64 first_us;
	u32 segs;
};

struct inet_connection_sock {
	struct {
		u16 rcv_mss;
	} icsk_ack;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	struct tcp_ackpol *ackpol;
	struct rb_root out_of_order_queue;
	u32 rcv_nxt;
	u32 rcv_wup;
};

#pragma clang attribute pop

/* libbpf copies the members that are declared here to those of the kernel */
struct tcp_ackpol_ops {
	u32 (*ack_delay_us)(struct sock *sk);
	void (*data_recv)(struct sock *sk);
	void (*ack_sent)(struct sock *sk);
#ifdef ACKPOL_OPS_GET_INFO
	int (*get_info)(const struct sock *sk, struct sk_buff *skb);
#endif
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	char name[16];
};

/* As in include/net/tcp_ackpol.h */
#define TCP_ACKPOL_IAT_NONE	U32_MAX
#define TCP_ACKPOL_DELACK	U32_MAX
#define TCP_ACKPOL_AS_DEFAULT	(U32_MAX - 1)

extern u8 *bpf_tcp_ackpol_priv(struct sock *sk, const u32 rdwr_buf_size) __ksym;
extern u32 bpf_tcp_ackpol_rtt_us(const struct sock *sk) __ksym;
extern int bpf_tcp_ackpol_exceeds(const struct sock *sk, u32 segs) __ksym;

/* Private state of a type */
#define ACKPOL_PRIV(type, sk)	((type *)bpf_tcp_ackpol_priv(sk, sizeof(type)))

/* The hooks are called for sockets of TCP only */
static inline const struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (const struct tcp_sock *)sk;
}

static inline const struct tcp_ackpol *tcp_ackpol(const struct sock *sk)
{
	return tcp_sk(sk)->ackpol;
}

static inline u32 tcp_ackpol_iat_us(const struct tcp_ackpol *ap)
{
	u64 previous_us = ap->previous_us;

	if (!previous_us)
		return TCP_ACKPOL_IAT_NONE;

	return min_t(u64, ap->arrival_us - previous_us,
		     TCP_ACKPOL_IAT_NONE - 1);
}

#endif /* _BPF_ACKPOL_H */
