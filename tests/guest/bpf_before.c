// SPDX-License-Identifier: GPL-2.0-only
/* An ACK policy that acknowledges the first of two segments and wants to delay the ACK of both. */

#include "bpf_ackpol.h"

char _license[] SEC("license") = "GPL";

SEC("struct_ops/before_ack_delay_us")
u32 BPF_PROG(before_ack_delay_us, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (bpf_tcp_ackpol_exceeds(sk, 1))
		bpf_tcp_ackpol_ack_before(sk, tp->rcv_wup + 1000);

	return 50 * USEC_PER_MSEC;
}

SEC(".struct_ops")
struct tcp_ackpol_ops bpf_before = {
	.ack_delay_us	= (void *)before_ack_delay_us,
	.name		= "bpf_before",
};
