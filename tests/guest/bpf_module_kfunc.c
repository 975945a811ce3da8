// SPDX-License-Identifier: GPL-2.0-only
/* An ACK policy that calls a function of a congestion control in a module: rejected */

#include "bpf_ackpol.h"

char _license[] SEC("license") = "GPL";

extern u32 bbr_sndbuf_expand(struct sock *sk) __ksym;

SEC("struct_ops/module_ack_delay_us")
u32 BPF_PROG(module_ack_delay_us, struct sock *sk)
{
	return bbr_sndbuf_expand(sk);
}

SEC(".struct_ops")
struct tcp_ackpol_ops bpf_module = {
	.ack_delay_us	= (void *)module_ack_delay_us,
	.name		= "bpf_module",
};
