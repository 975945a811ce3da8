// SPDX-License-Identifier: GPL-2.0-only
/* An ACK policy without ack_delay_us(): cannot be registered */

#include "bpf_ackpol.h"

char _license[] SEC("license") = "GPL";

SEC("struct_ops/incompl_data_recv")
void BPF_PROG(incompl_data_recv, struct sock *sk)
{
}

SEC(".struct_ops")
struct tcp_ackpol_ops bpf_incompl = {
	.data_recv	= (void *)incompl_data_recv,
	.name		= "bpf_incompl",
};
