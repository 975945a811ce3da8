// SPDX-License-Identifier: GPL-2.0-only
/* The ACK policy "aad" of tcp_ackpol_aad.c, as BPF programs */

#include "bpf_ackpol.h"
#include "../../../../../net/ipv4/tcp_ackpol_aad.h"

char _license[] SEC("license") = "GPL";

static struct tcp_aad_params params = TCP_AAD_PARAMS_DEFAULT;

SEC("struct_ops/aad_init")
void BPF_PROG(aad_init, struct sock *sk)
{
	struct tcp_aad *aad = ACKPOL_PRIV(struct tcp_aad, sk);

	if (aad)
		tcp_aad_start(aad);
}

SEC("struct_ops/aad_data_recv")
void BPF_PROG(aad_data_recv, struct sock *sk)
{
	struct tcp_aad *aad = ACKPOL_PRIV(struct tcp_aad, sk);
	const struct tcp_ackpol *ap = tcp_ackpol(sk);

	if (aad)
		tcp_aad_arrival(aad, &params, ap->arrival_us,
				tcp_ackpol_iat_us(ap));
}

SEC("struct_ops/aad_ack_delay_us")
u32 BPF_PROG(aad_ack_delay_us, struct sock *sk)
{
	struct tcp_aad *aad = ACKPOL_PRIV(struct tcp_aad, sk);

	if (!aad)
		return TCP_ACKPOL_AS_DEFAULT;

	return tcp_aad_delay_us(aad, &params, tcp_ackpol(sk)->segs);
}

SEC(".struct_ops")
struct tcp_ackpol_ops bpf_aad = {
	.init		= (void *)aad_init,
	.data_recv	= (void *)aad_data_recv,
	.ack_delay_us	= (void *)aad_ack_delay_us,
	.name		= "bpf_aad",
};
