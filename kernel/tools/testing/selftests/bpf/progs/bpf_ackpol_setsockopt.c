// SPDX-License-Identifier: GPL-2.0-only
/* An ACK policy that sets a socket option: rejected by the verifier */

#include "bpf_ackpol.h"

char _license[] SEC("license") = "GPL";

char default_policy[16] = "default";

SEC("struct_ops/setsockopt_ack_delay_us")
u32 BPF_PROG(setsockopt_ack_delay_us, struct sock *sk)
{
	/* IPPROTO_TCP, TCP_ACK_POLICY */
	bpf_setsockopt(sk, 6, 47, default_policy, sizeof(default_policy));
	return 0;
}

SEC(".struct_ops")
struct tcp_ackpol_ops bpf_setsockopt_ = {
	.ack_delay_us	= (void *)setsockopt_ack_delay_us,
	.name		= "bpf_setsockopt",
};
