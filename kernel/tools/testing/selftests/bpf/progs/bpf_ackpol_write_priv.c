// SPDX-License-Identifier: GPL-2.0-only
/* An ACK policy that writes behind its private state: rejected by the verifier */

#include "bpf_ackpol.h"

char _license[] SEC("license") = "GPL";

SEC("struct_ops/write_priv_ack_delay_us")
u32 BPF_PROG(write_priv_ack_delay_us, struct sock *sk)
{
	u64 *state = (u64 *)bpf_tcp_ackpol_priv(sk, 2 * sizeof(*state));

	if (state)
		state[2] = 1;
	return 0;
}

SEC(".struct_ops")
struct tcp_ackpol_ops bpf_write_priv = {
	.ack_delay_us	= (void *)write_priv_ack_delay_us,
	.name		= "bpf_write_priv",
};
