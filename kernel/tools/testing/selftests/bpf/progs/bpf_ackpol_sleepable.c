// SPDX-License-Identifier: GPL-2.0-only
/* An ACK policy that may sleep: rejected, as it runs in softirq */

#include "bpf_ackpol.h"

char _license[] SEC("license") = "GPL";

SEC("struct_ops.s/sleepable_ack_delay_us")
u32 BPF_PROG(sleepable_ack_delay_us, struct sock *sk)
{
	return 0;
}

SEC(".struct_ops")
struct tcp_ackpol_ops bpf_sleepable = {
	.ack_delay_us	= (void *)sleepable_ack_delay_us,
	.name		= "bpf_sleepable",
};
