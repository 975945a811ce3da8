// SPDX-License-Identifier: GPL-2.0-only
/* A congestion control that asks for an ACK policy's state: rejected */

#include "bpf_ackpol.h"

char _license[] SEC("license") = "GPL";

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
};

SEC("struct_ops/ca_ssthresh")
u32 BPF_PROG(ca_ssthresh, struct sock *sk)
{
	return bpf_tcp_ackpol_priv(sk, 1) ? 10 : 20;
}

SEC("struct_ops/ca_cong_avoid")
void BPF_PROG(ca_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
}

SEC("struct_ops/ca_undo_cwnd")
u32 BPF_PROG(ca_undo_cwnd, struct sock *sk)
{
	return 10;
}

SEC(".struct_ops")
struct tcp_congestion_ops bpf_ackpol_ca = {
	.ssthresh	= (void *)ca_ssthresh,
	.cong_avoid	= (void *)ca_cong_avoid,
	.undo_cwnd	= (void *)ca_undo_cwnd,
	.name		= "bpf_ackpol_ca",
};
