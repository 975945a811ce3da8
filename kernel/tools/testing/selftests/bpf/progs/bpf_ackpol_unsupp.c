// SPDX-License-Identifier: GPL-2.0-only
/* An ACK policy with a hook that BPF programs cannot implement */

#define ACKPOL_OPS_GET_INFO
#include "bpf_ackpol.h"

char _license[] SEC("license") = "GPL";

SEC("struct_ops/unsupp_ack_delay_us")
u32 BPF_PROG(unsupp_ack_delay_us, struct sock *sk)
{
	return 0;
}

SEC("struct_ops/unsupp_get_info")
int BPF_PROG(unsupp_get_info, const struct sock *sk, struct sk_buff *skb)
{
	return 0;
}

SEC(".struct_ops")
struct tcp_ackpol_ops bpf_unsupp = {
	.ack_delay_us	= (void *)unsupp_ack_delay_us,
	.get_info	= (void *)unsupp_get_info,
	.name		= "bpf_unsupp",
};
