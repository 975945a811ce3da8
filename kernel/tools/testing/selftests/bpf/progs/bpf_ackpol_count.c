// SPDX-License-Identifier: GPL-2.0-only
/* The ACK policy "count" of tcp_ackpol_count.c, as BPF programs */

#include "bpf_ackpol.h"
#include "../../../../../net/ipv4/tcp_ackpol_count.h"

char _license[] SEC("license") = "GPL";

static struct tcp_count_params params = TCP_COUNT_PARAMS_DEFAULT;

SEC("struct_ops/count_ack_delay_us")
u32 BPF_PROG(count_ack_delay_us, struct sock *sk)
{
	const struct tcp_ackpol *ap = tcp_ackpol(sk);

	return tcp_count_delay_us(&params, ap->segs, ap->first_us,
				  ap->arrival_us);
}

SEC(".struct_ops")
struct tcp_ackpol_ops bpf_count = {
	.ack_delay_us	= (void *)count_ack_delay_us,
	.name		= "bpf_count",
};
