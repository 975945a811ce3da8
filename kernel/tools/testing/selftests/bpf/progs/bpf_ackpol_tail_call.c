// SPDX-License-Identifier: GPL-2.0-only
/* An ACK policy that makes a tail call: rejected by the verifier */

#include "bpf_ackpol.h"

char _license[] SEC("license") = "GPL";

struct {
	__uint(type, 3); /* BPF_MAP_TYPE_PROG_ARRAY */
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} programs SEC(".maps");

SEC("struct_ops/tail_call_ack_delay_us")
u32 BPF_PROG(tail_call_ack_delay_us, struct sock *sk)
{
	bpf_tail_call(ctx, &programs, 0);
	return 0;
}

SEC(".struct_ops")
struct tcp_ackpol_ops bpf_tail_call_ = {
	.ack_delay_us	= (void *)tail_call_ack_delay_us,
	.name		= "bpf_tail_call",
};
