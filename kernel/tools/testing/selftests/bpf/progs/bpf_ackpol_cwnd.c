// SPDX-License-Identifier: GPL-2.0-only
/* An ACK policy that calls a function of congestion control: rejected */

#include "bpf_ackpol.h"

char _license[] SEC("license") = "GPL";

extern u32 tcp_slow_start(struct tcp_sock *tp, u32 acked) __ksym;

SEC("struct_ops/cwnd_ack_delay_us")
u32 BPF_PROG(cwnd_ack_delay_us, struct sock *sk)
{
	return tcp_slow_start((struct tcp_sock *)sk, 10);
}

SEC(".struct_ops")
struct tcp_ackpol_ops bpf_cwnd = {
	.ack_delay_us	= (void *)cwnd_ack_delay_us,
	.name		= "bpf_cwnd",
};
