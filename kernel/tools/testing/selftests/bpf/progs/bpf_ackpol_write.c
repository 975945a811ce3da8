// SPDX-License-Identifier: GPL-2.0-only
/* An ACK policy that writes to the socket: rejected by the verifier */

#include "bpf_ackpol.h"

char _license[] SEC("license") = "GPL";

SEC("struct_ops/write_ack_delay_us")
u32 BPF_PROG(write_ack_delay_us, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	tp->rcv_wup = tp->rcv_nxt;
	return 0;
}

SEC(".struct_ops")
struct tcp_ackpol_ops bpf_write = {
	.ack_delay_us	= (void *)write_ack_delay_us,
	.name		= "bpf_write",
};
