// SPDX-License-Identifier: GPL-2.0-only
/* The ACK policy "auto" of tcp_ackpol_auto.c, as BPF programs. They are for new
 * connections: there is no init, which is for existing ones.
 */

#include "bpf_ackpol.h"
#include "../../../../../net/ipv4/tcp_ackpol_auto.h"

char _license[] SEC("license") = "GPL";

static struct tcp_auto_params params = TCP_AUTO_PARAMS_DEFAULT;

SEC("struct_ops/auto_data_recv")
void BPF_PROG(auto_data_recv, struct sock *sk)
{
	struct tcp_auto *state = ACKPOL_PRIV(struct tcp_auto, sk);
	const struct tcp_ackpol *ap = tcp_ackpol(sk);

	if (state)
		tcp_auto_gap(state, ap->arrival_us - ap->previous_us);
}

SEC("struct_ops/auto_ack_sent")
void BPF_PROG(auto_ack_sent, struct sock *sk)
{
	struct tcp_auto *state = ACKPOL_PRIV(struct tcp_auto, sk);
	const struct tcp_ackpol *ap = tcp_ackpol(sk);
	u32 rtt_us = bpf_tcp_ackpol_rtt_us(sk);
	u32 rcv_nxt = tcp_sk(sk)->rcv_nxt;
	u32 burst_us;

	if (!state)
		return;

	state->received += ap->segs;
	if (tcp_sk(sk)->out_of_order_queue.rb_node) {
		tcp_auto_hole(state);
	} else if (tcp_auto_arrival(state, ap->arrival_us, rcv_nxt, rtt_us)) {
		burst_us = tcp_auto_end_round(state, ap->arrival_us, rcv_nxt,
					      rtt_us);
		tcp_auto_decide(state, &params, burst_us,
				tcp_sk(sk)->inet_conn.icsk_ack.rcv_mss, rtt_us);
	}
}

SEC("struct_ops/auto_ack_delay_us")
u32 BPF_PROG(auto_ack_delay_us, struct sock *sk)
{
	struct tcp_auto *state = ACKPOL_PRIV(struct tcp_auto, sk);
	const struct tcp_ackpol *ap = tcp_ackpol(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!state || !state->interval_us)
		return TCP_ACKPOL_AS_DEFAULT;

	if (!bpf_tcp_ackpol_exceeds(sk, 1))
		return TCP_ACKPOL_DELACK;

	if (tcp_auto_large(state, tp->rcv_nxt - tp->rcv_wup, ap->segs))
		return 0;

	return tcp_auto_delay_us(state, ap->first_us, ap->arrival_us);
}

SEC(".struct_ops")
struct tcp_ackpol_ops bpf_auto = {
	.ack_delay_us	= (void *)auto_ack_delay_us,
	.data_recv	= (void *)auto_data_recv,
	.ack_sent	= (void *)auto_ack_sent,
	.name		= "bpf_auto",
};
