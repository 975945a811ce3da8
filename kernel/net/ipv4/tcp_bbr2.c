// SPDX-License-Identifier: GPL-2.0-only
/*
 * BBRv2: model-based congestion control
 *
 * N. Cardwell et al., "BBR Congestion Control",
 * draft-cardwell-iccrg-bbr-congestion-control-02, 2022.  Functions are named as
 * in its pseudocode, and comments refer to its sections.
 *
 * From ACKs it estimates the bandwidth (max_bw) and the round trip time
 * (min_rtt) of the path, and what is safe to use: bw_lo and inflight_lo in the
 * short term, while not probing, and inflight_hi in the long term, the limit
 * at which probing caused loss.
 *
 *         |
 *      Startup      2.77 * bw, until bw stops growing or loss is too high
 *         |
 *       Drain       0.5 * bw, until at most a BDP is in flight
 *         |
 *  +-> ProbeBW_DOWN     0.9 * bw, until a BDP is in flight, with headroom
 *  |      |
 *  |   ProbeBW_CRUISE   1 * bw, until 2 to 3 s after DOWN began, or as many
 *  |      |             rounds as the BDP has packets, but at most 63
 *  |   ProbeBW_REFILL   1 * bw for a round, without short-term bounds
 *  |      |
 *  |   ProbeBW_UP       1.25 * bw, until 1.25 BDP are in flight or loss is
 *  |      |             too high
 *  +------+
 *
 * ProbeRTT (half a BDP for 200 ms) after 5 s without a lower RTT.
 *
 * Differences from the draft:
 * - There is no bw_hi, which the draft compares but never sets.  max_bw, the
 *   maximum of two cycles, limits the bandwidth.
 * - Linux does not record with a packet the data in flight and the losses at
 *   the time it was sent. rs->prior_in_flight, the data in flight before the
 *   ACK, is used as tx_in_flight.  That is a round trip later: it is higher if
 *   the flow accelerates, and lower in recovery, where the draft's minimum
 *   limits inflight_hi.  The losses since the start of the round are used as
 *   rs.lost.
 * - For the same reason only ACKs of a probe without too much loss raise
 *   inflight_hi: after too much loss, more is in flight for a round.
 * - All losses reported by an ACK are treated as one packet, as there is no
 *   hook for each lost packet.
 * - The end of a probe's samples is detected once: the draft would advance the
 *   filter of max_bw in every later round.
 * - extra_acked is used after Startup: before, all ACKs exceed the estimate.
 *   The last rounds of Startup are in its filter.
 * - After a timeout cwnd is one segment, so bounds are derived from the
 *   previous cwnd.
 * - An expired RTT is not replaced by that of a delayed ACK.
 * - If losses were spurious (Eifel, F-RTO, DSACK), the bounds are restored
 *   along with cwnd.
 * - ECN, which the draft does not specify, is ignored.
 */

#include <linux/inet_diag.h>
#include <linux/module.h>
#include <linux/random.h>
#include <net/net_namespace.h>
#include <net/tcp.h>
#include <net/tcp_small_queue.h>

#include "tcp_bbr2.h"

enum bbr2_state {
	BBR2_STARTUP,
	BBR2_DRAIN,
	BBR2_PROBE_BW_DOWN,
	BBR2_PROBE_BW_CRUISE,
	BBR2_PROBE_BW_REFILL,
	BBR2_PROBE_BW_UP,
	BBR2_PROBE_RTT,
};

/* 4.3.3.6: data that is being acknowledged */
enum bbr2_ack_phase {
	BBR2_ACKS_INIT,		/* not sent in a probe */
	BBR2_ACKS_REFILLING,	/* sent before UP */
	BBR2_ACKS_PROBE_STARTING,	/* sent before UP, which has started */
	BBR2_ACKS_PROBE_FEEDBACK,	/* sent in UP */
	BBR2_ACKS_PROBE_STOPPING,	/* sent in UP, which has ended */
};

/* Gains of each state, 2.6, 2.14.2 and 4.6.1 */
static const u16 bbr2_pacing_gains[] = {
	[BBR2_STARTUP]		= BBR2_UNIT * 277 / 100 + 1,	/* 4 ln 2 */
	[BBR2_DRAIN]		= BBR2_UNIT / 2,
	[BBR2_PROBE_BW_DOWN]	= BBR2_UNIT * 9 / 10,
	[BBR2_PROBE_BW_CRUISE]	= BBR2_UNIT,
	[BBR2_PROBE_BW_REFILL]	= BBR2_UNIT,
	[BBR2_PROBE_BW_UP]	= BBR2_UNIT * 5 / 4,
	[BBR2_PROBE_RTT]	= BBR2_UNIT,
};

static const u16 bbr2_cwnd_gains[] = {
	[BBR2_STARTUP ... BBR2_PROBE_BW_UP] = BBR2_UNIT * 2,
	[BBR2_PROBE_RTT]	= BBR2_UNIT / 2,
};

/* 4.3.1.2: the pipe is full after this many rounds with less growth of bw */
static const u32 bbr2_full_bw_percent = 125;
static const u32 bbr2_full_bw_count = 3;
/* 4.3.1.3: or after this many losses in a round with a high loss rate */
static const u32 bbr2_startup_full_loss_cnt = 3;
/* 4.3.3.5.3: minimum and random time between probes */
static const u32 bbr2_probe_wait_ms = 2 * MSEC_PER_SEC;
static const u32 bbr2_probe_wait_rand_ms = MSEC_PER_SEC;
/* 2.14 */
static const u32 bbr2_min_rtt_filter_len = 10 * HZ;
static const u32 bbr2_probe_rtt_interval = 5 * HZ;
static const u32 bbr2_probe_rtt_duration_ms = 200;
/* 2.12: extra_acked is the maximum of two halves of 10 rounds */
static const u32 bbr2_extra_acked_half_rounds = 5;
#define BBR2_EXTRA_ACKED_BITS	20
/* 4.6.3: below this a quantum is one packet */
static const u32 bbr2_min_tso_bytes_per_sec = 1200000 / 8;

/* State of a connection */
struct bbr2 {
	/* Path, 2.9; times are those of tcp_jiffies32 or tp->tcp_mstamp */
	u32	min_rtt_us;
	u32	min_rtt_stamp;
	u32	max_bw[2];		/* of previous and current cycle */
	u32	bw_lo;
	u32	inflight_hi;
	u32	inflight_lo;

	/* Maximum delivered in this round, 2.10 */
	u32	bw_latest;
	u32	inflight_latest;
	u16	lost_in_round;		/* packets */
	u16	loss_events:2,		/* ACKs in this round with losses */
		bw_probe_up_rounds:5,
		rounds_since_bw_probe:7,
		unused:2;

	/* A round ends when data sent at its start is acknowledged, 4.5.1 */
	u32	next_round_delivered;
	u32	loss_round_delivered;

	/* Before the last recovery or ProbeRTT */
	u32	prior_cwnd;
	u32	undo_bw_lo;
	u32	undo_inflight_hi;
	u32	undo_inflight_lo;

	u32	full_bw;		/* in Startup */
	u32	cycle_stamp_us;		/* start of DOWN or UP */
	u32	bw_probe_up_acks;	/* in UP */

	/* ProbeRTT, 2.14.2 */
	u32	probe_rtt_min_us;
	u32	probe_rtt_min_stamp;
	u32	probe_rtt_done_stamp;	/* 0: cwnd not yet reached */

	/* Aggregation, 2.12 */
	u32	extra_acked_start_us;
	u16	extra_acked[2];
	u32	extra_acked_delivered:BBR2_EXTRA_ACKED_BITS,
		bw_probe_wait_ms:12;

	u32	state:3,
		prev_ca_state:3,
		ack_phase:3,
		full_bw_count:2,
		extra_acked_rounds:3,
		extra_acked_half:1,
		filled_pipe:1,
		round_start:1,
		loss_round_start:1,
		loss_in_round:1,
		bw_probe_samples:1,	/* no loss response in this probe */
		packet_conservation:1,
		idle_restart:1,
		probe_rtt_round_done:1,
		has_seen_rtt:1;
};

/* Information in an ACK, in addition to the rate sample */
struct bbr2_ack {
	const struct rate_sample *rs;
	u32 delivery_rate;	/* 0: no sample */
};

static u32 bbr2_pacing_gain(const struct bbr2 *bbr)
{
	return bbr2_pacing_gains[bbr->state];
}

static u32 bbr2_max_bw(const struct bbr2 *bbr)
{
	return max(bbr->max_bw[0], bbr->max_bw[1]);
}

/* 4.5.6.3, BBRBoundBWForModel() */
static u32 bbr2_bw(const struct bbr2 *bbr)
{
	return min(bbr2_max_bw(bbr), bbr->bw_lo);
}

static bool bbr2_is_in_a_probe_bw_state(const struct bbr2 *bbr)
{
	return bbr->state >= BBR2_PROBE_BW_DOWN &&
	       bbr->state <= BBR2_PROBE_BW_UP;
}

static bool bbr2_is_probing_bw(const struct bbr2 *bbr)
{
	return bbr->state == BBR2_STARTUP ||
	       bbr->state == BBR2_PROBE_BW_REFILL ||
	       bbr->state == BBR2_PROBE_BW_UP;
}

static u32 bbr2_now_us(const struct sock *sk)
{
	return tcp_sk(sk)->tcp_mstamp;
}

/* 4.6.2 */
static u64 bbr2_rate(const struct sock *sk, u32 bw, u32 gain)
{
	const struct net *net = sock_net(sk);
	u64 rate = bbr2_pacing_rate(bw, tcp_sk(sk)->mss_cache, gain,
				    READ_ONCE(net->ipv4.sysctl_tcp_bbr2_pacing_percent));

	return min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate));
}

static void bbr2_init_pacing_rate(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr2 *bbr = inet_csk_ca(sk);
	u32 srtt_us = USEC_PER_MSEC, bw;

	if (tp->srtt_us) {
		srtt_us = max(tp->srtt_us >> 3, 1U);
		bbr->has_seen_rtt = 1;
	}
	bw = bbr2_delivery_rate(tcp_snd_cwnd(tp), srtt_us);
	WRITE_ONCE(sk->sk_pacing_rate,
		   bbr2_rate(sk, bw, bbr2_pacing_gains[BBR2_STARTUP]));
}

static void bbr2_set_pacing_rate_with_gain(struct sock *sk, u32 gain)
{
	struct bbr2 *bbr = inet_csk_ca(sk);
	u64 rate = bbr2_rate(sk, bbr2_bw(bbr), gain);

	if (unlikely(!bbr->has_seen_rtt && tcp_sk(sk)->srtt_us))
		bbr2_init_pacing_rate(sk);
	if (bbr->filled_pipe || rate > READ_ONCE(sk->sk_pacing_rate))
		WRITE_ONCE(sk->sk_pacing_rate, rate);
}

/* 4.6.3: minimum of BBR.send_quantum */
static u32 bbr2_min_tso_segs(struct sock *sk)
{
	return READ_ONCE(sk->sk_pacing_rate) < bbr2_min_tso_bytes_per_sec ? 1 : 2;
}

/* The burst that tcp_tso_autosize() allows, without the device's limits */
static u32 bbr2_send_quantum(struct sock *sk)
{
	unsigned long bytes = min_t(unsigned long, tcp_small_queue_burst(sk),
				    GSO_LEGACY_MAX_SIZE - 1 - MAX_TCP_HEADER);

	return max_t(u32, bytes / tcp_sk(sk)->mss_cache, bbr2_min_tso_segs(sk));
}

static u32 bbr2_bdp(const struct bbr2 *bbr, u32 bw, u32 gain)
{
	if (unlikely(bbr->min_rtt_us == U32_MAX))
		return TCP_INIT_CWND;
	return bbr2_bdp_multiple(bw, bbr->min_rtt_us, gain);
}

/* 4.6.4.2 */
static u32 bbr2_inflight(struct sock *sk, u32 bw, u32 gain)
{
	const struct bbr2 *bbr = inet_csk_ca(sk);

	return bbr2_quantization_budget(bbr2_bdp(bbr, bw, gain),
					bbr2_send_quantum(sk),
					bbr->state == BBR2_PROBE_BW_UP);
}

static u32 bbr2_max_inflight(struct sock *sk)
{
	const struct bbr2 *bbr = inet_csk_ca(sk);
	u32 inflight = bbr2_bdp(bbr, bbr2_bw(bbr), bbr2_cwnd_gains[bbr->state]);

	if (bbr->filled_pipe)
		inflight += max(bbr->extra_acked[0], bbr->extra_acked[1]);
	return bbr2_quantization_budget(inflight, bbr2_send_quantum(sk),
					bbr->state == BBR2_PROBE_BW_UP);
}

/* 4.6.4.4: the last cwnd outside of recovery and ProbeRTT */
static u32 bbr2_save_cwnd(const struct sock *sk)
{
	const struct bbr2 *bbr = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	if (bbr->prev_ca_state < TCP_CA_Recovery &&
	    bbr->state != BBR2_PROBE_RTT)
		return cwnd;
	return max(bbr->prior_cwnd, cwnd);
}

static void bbr2_restore_cwnd(struct sock *sk)
{
	const struct bbr2 *bbr = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, max(tcp_snd_cwnd(tp), bbr->prior_cwnd));
}

/* 4.3.3.5.3, but with the cwnd before a timeout */
static u32 bbr2_target_inflight(const struct sock *sk)
{
	const struct bbr2 *bbr = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	if (bbr->prev_ca_state == TCP_CA_Loss)
		cwnd = max(cwnd, bbr->prior_cwnd);
	return min(bbr2_bdp(bbr, bbr2_bw(bbr), BBR2_UNIT), cwnd);
}

/* 4.5.1 */
static void bbr2_start_round(struct sock *sk)
{
	struct bbr2 *bbr = inet_csk_ca(sk);

	bbr->next_round_delivered = tcp_sk(sk)->delivered;
}

static void bbr2_update_round(struct sock *sk, const struct rate_sample *rs)
{
	struct bbr2 *bbr = inet_csk_ca(sk);

	bbr->round_start = !before(rs->prior_delivered,
				   bbr->next_round_delivered);
	if (!bbr->round_start)
		return;

	bbr2_start_round(sk);
	if (bbr->rounds_since_bw_probe < BBR2_RENO_ROUNDS)
		bbr->rounds_since_bw_probe++;
	bbr->packet_conservation = 0;	/* 4.6.4.4: after one round trip */
}

/* 4.5.2.4 */
static void bbr2_update_max_bw(struct sock *sk, const struct bbr2_ack *ack)
{
	struct bbr2 *bbr = inet_csk_ca(sk);

	bbr2_update_round(sk, ack->rs);
	if (!ack->rs->is_app_limited || ack->delivery_rate >= bbr2_max_bw(bbr))
		bbr->max_bw[1] = max(bbr->max_bw[1], ack->delivery_rate);
}

/* 4.5.2.5: cycles without samples do not count */
static void bbr2_advance_max_bw_filter(struct bbr2 *bbr)
{
	if (!bbr->max_bw[1])
		return;
	bbr->max_bw[0] = bbr->max_bw[1];
	bbr->max_bw[1] = 0;
}

/* 4.5.6.3 */
static void bbr2_reset_congestion_signals(struct bbr2 *bbr)
{
	bbr->loss_in_round = 0;
	bbr->lost_in_round = 0;
	bbr->loss_events = 0;
	bbr->bw_latest = 0;
	bbr->inflight_latest = 0;
}

static void bbr2_reset_lower_bounds(struct bbr2 *bbr)
{
	bbr->bw_lo = BBR2_INFINITY;
	bbr->inflight_lo = BBR2_INFINITY;
}

static void bbr2_init_lower_bounds(struct bbr2 *bbr, u32 cwnd)
{
	if (bbr->bw_lo == BBR2_INFINITY)
		bbr->bw_lo = bbr2_max_bw(bbr);
	if (bbr->inflight_lo == BBR2_INFINITY)
		bbr->inflight_lo = cwnd;
}

static void bbr2_adapt_lower_bounds_from_congestion(struct sock *sk)
{
	struct bbr2 *bbr = inet_csk_ca(sk);

	if (bbr2_is_probing_bw(bbr) || !bbr->loss_in_round)
		return;
	bbr2_init_lower_bounds(bbr, tcp_snd_cwnd(tcp_sk(sk)));
	bbr->bw_lo = bbr2_loss_lower_bound(bbr->bw_lo, bbr->bw_latest);
	bbr->inflight_lo = bbr2_loss_lower_bound(bbr->inflight_lo,
						 bbr->inflight_latest);
}

static void bbr2_update_latest_delivery_signals(struct sock *sk,
						const struct bbr2_ack *ack)
{
	struct bbr2 *bbr = inet_csk_ca(sk);

	bbr->bw_latest = max(bbr->bw_latest, ack->delivery_rate);
	bbr->inflight_latest = max_t(u32, bbr->inflight_latest,
				     ack->rs->delivered);
	bbr->loss_round_start = !before(ack->rs->prior_delivered,
					bbr->loss_round_delivered);
	if (bbr->loss_round_start)
		bbr->loss_round_delivered = tcp_sk(sk)->delivered;
}

static void bbr2_advance_latest_delivery_signals(struct bbr2 *bbr,
						 const struct bbr2_ack *ack)
{
	if (!bbr->loss_round_start)
		return;
	bbr->bw_latest = ack->delivery_rate;
	bbr->inflight_latest = ack->rs->delivered;
	bbr->lost_in_round = 0;
	bbr->loss_events = 0;
}

static void bbr2_note_loss(struct bbr2 *bbr, u32 losses)
{
	if (!losses)
		return;
	bbr->loss_in_round = 1;
	bbr->lost_in_round = min_t(u32, bbr->lost_in_round + losses, U16_MAX);
	if (bbr->loss_events < bbr2_startup_full_loss_cnt)
		bbr->loss_events++;
}

static void bbr2_update_congestion_signals(struct sock *sk,
					   const struct bbr2_ack *ack)
{
	struct bbr2 *bbr = inet_csk_ca(sk);

	bbr2_update_max_bw(sk, ack);
	if (!bbr->loss_round_start)
		return;
	bbr2_adapt_lower_bounds_from_congestion(sk);
	bbr->loss_in_round = 0;
}

/* 4.5.5 */
static void bbr2_update_ack_aggregation(struct sock *sk,
					const struct rate_sample *rs)
{
	struct bbr2 *bbr = inet_csk_ca(sk);
	u32 now_us = bbr2_now_us(sk), delivered, extra;
	u64 expected;

	if (bbr->round_start &&
	    ++bbr->extra_acked_rounds >= bbr2_extra_acked_half_rounds) {
		bbr->extra_acked_rounds = 0;
		bbr->extra_acked_half ^= 1;
		bbr->extra_acked[bbr->extra_acked_half] = 0;
	}

	delivered = bbr->extra_acked_delivered;
	expected = (u64)bbr2_bw(bbr) * (now_us - bbr->extra_acked_start_us) >>
		   BBR2_BW_SCALE;
	if (delivered <= expected ||
	    delivered + rs->acked_sacked >= 1 << BBR2_EXTRA_ACKED_BITS) {
		bbr->extra_acked_start_us = now_us;
		delivered = 0;
		expected = 0;
	}
	delivered = min(delivered + rs->acked_sacked,
			(1U << BBR2_EXTRA_ACKED_BITS) - 1);
	bbr->extra_acked_delivered = delivered;

	extra = min3(delivered - (u32)expected, tcp_snd_cwnd(tcp_sk(sk)),
		     (u32)U16_MAX);
	if (extra > bbr->extra_acked[bbr->extra_acked_half])
		bbr->extra_acked[bbr->extra_acked_half] = extra;
}

/* 4.3.1.2 */
static void bbr2_check_startup_full_bandwidth(struct bbr2 *bbr,
					      const struct rate_sample *rs)
{
	u32 bw = bbr2_max_bw(bbr);

	if (bbr->filled_pipe || !bbr->round_start || rs->is_app_limited)
		return;
	if ((u64)bw * 100 >= (u64)bbr->full_bw * bbr2_full_bw_percent) {
		bbr->full_bw = bw;
		bbr->full_bw_count = 0;
		return;
	}
	if (++bbr->full_bw_count >= bbr2_full_bw_count)
		bbr->filled_pipe = 1;
}

/* 4.3.1.3: packet conservation ends after the first round of recovery */
static void bbr2_check_startup_high_loss(const struct sock *sk,
					 const struct rate_sample *rs)
{
	struct bbr2 *bbr = inet_csk_ca(sk);

	if (!bbr->filled_pipe && bbr->loss_round_start &&
	    inet_csk(sk)->icsk_ca_state == TCP_CA_Recovery &&
	    bbr->prev_ca_state == TCP_CA_Recovery &&
	    !bbr->packet_conservation &&
	    bbr->loss_events >= bbr2_startup_full_loss_cnt &&
	    bbr2_is_inflight_too_high(bbr->lost_in_round, rs->prior_in_flight))
		bbr->filled_pipe = 1;
}

static void bbr2_check_startup_done(struct sock *sk,
				    const struct rate_sample *rs)
{
	struct bbr2 *bbr = inet_csk_ca(sk);

	bbr2_check_startup_full_bandwidth(bbr, rs);
	bbr2_check_startup_high_loss(sk, rs);
	if (bbr->state == BBR2_STARTUP && bbr->filled_pipe) {
		bbr->state = BBR2_DRAIN;
		tcp_sk(sk)->snd_ssthresh = bbr2_inflight(sk, bbr2_max_bw(bbr),
							 BBR2_UNIT);
	}
}

/* 4.3.3.6: the phases of ProbeBW */
static void bbr2_start_probe_bw_down(struct sock *sk)
{
	struct bbr2 *bbr = inet_csk_ca(sk);

	bbr2_reset_congestion_signals(bbr);
	bbr->rounds_since_bw_probe = get_random_u32_below(2);
	bbr->bw_probe_wait_ms = bbr2_probe_wait_ms +
				get_random_u32_below(bbr2_probe_wait_rand_ms);
	bbr->cycle_stamp_us = bbr2_now_us(sk);
	bbr->ack_phase = BBR2_ACKS_PROBE_STOPPING;
	bbr2_start_round(sk);
	bbr->state = BBR2_PROBE_BW_DOWN;
}

static void bbr2_start_probe_bw_cruise(struct bbr2 *bbr)
{
	bbr->state = BBR2_PROBE_BW_CRUISE;
}

static void bbr2_start_probe_bw_refill(struct sock *sk)
{
	struct bbr2 *bbr = inet_csk_ca(sk);

	bbr2_reset_lower_bounds(bbr);
	bbr->bw_probe_up_rounds = 0;
	bbr->bw_probe_up_acks = 0;
	bbr->ack_phase = BBR2_ACKS_REFILLING;
	bbr2_start_round(sk);
	bbr->state = BBR2_PROBE_BW_REFILL;
}

static void bbr2_start_probe_bw_up(struct sock *sk)
{
	struct bbr2 *bbr = inet_csk_ca(sk);

	bbr->ack_phase = BBR2_ACKS_PROBE_STARTING;
	bbr2_start_round(sk);
	bbr->cycle_stamp_us = bbr2_now_us(sk);
	bbr->state = BBR2_PROBE_BW_UP;
}

/* 4.3.2 */
static void bbr2_check_drain(struct sock *sk)
{
	const struct bbr2 *bbr = inet_csk_ca(sk);

	if (bbr->state == BBR2_DRAIN &&
	    tcp_packets_in_flight(tcp_sk(sk)) <=
	    bbr2_inflight(sk, bbr2_bw(bbr), BBR2_UNIT))
		bbr2_start_probe_bw_down(sk);
}

static bool bbr2_has_elapsed_in_phase(const struct sock *sk, u32 interval_us)
{
	const struct bbr2 *bbr = inet_csk_ca(sk);

	return bbr2_now_us(sk) - bbr->cycle_stamp_us > interval_us;
}

/* 4.3.3.5.3 */
static bool bbr2_check_time_to_probe_bw(struct sock *sk)
{
	const struct bbr2 *bbr = inet_csk_ca(sk);

	if (!bbr2_has_elapsed_in_phase(sk, bbr->bw_probe_wait_ms *
					   USEC_PER_MSEC) &&
	    !bbr2_is_reno_coexistence_probe_time(bbr->rounds_since_bw_probe,
						 bbr2_target_inflight(sk)))
		return false;
	bbr2_start_probe_bw_refill(sk);
	return true;
}

static bool bbr2_check_time_to_cruise(struct sock *sk, u32 inflight)
{
	const struct bbr2 *bbr = inet_csk_ca(sk);

	return inflight <= bbr2_inflight_with_headroom(bbr->inflight_hi) &&
	       inflight <= bbr2_inflight(sk, bbr2_max_bw(bbr), BBR2_UNIT);
}

/* 4.5.6.2: once per probe */
static void bbr2_handle_inflight_too_high(struct sock *sk, u32 tx_in_flight,
					  bool is_app_limited)
{
	struct bbr2 *bbr = inet_csk_ca(sk);

	bbr->bw_probe_samples = 0;
	if (!is_app_limited)
		bbr->inflight_hi = max(tx_in_flight,
				       bbr2_percent_of(bbr2_target_inflight(sk),
						       BBR2_BETA_PERCENT));
	if (bbr->state == BBR2_PROBE_BW_UP)
		bbr2_start_probe_bw_down(sk);
}

static bool bbr2_check_inflight_too_high(struct sock *sk,
					 const struct rate_sample *rs)
{
	const struct bbr2 *bbr = inet_csk_ca(sk);
	u32 lost = bbr->lost_in_round, tx_in_flight = rs->prior_in_flight;

	if (!bbr2_is_inflight_too_high(lost, tx_in_flight))
		return false;
	if (bbr->bw_probe_samples) {
		tx_in_flight = bbr2_inflight_hi_from_lost(tx_in_flight, lost,
							  rs->losses);
		bbr2_handle_inflight_too_high(sk, tx_in_flight,
					      rs->is_app_limited);
	}
	return true;
}

/* 4.3.3.6 */
static void bbr2_probe_inflight_hi_upward(struct sock *sk,
					  const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr2 *bbr = inet_csk_ca(sk);
	u32 cnt, delta;

	if (!tp->is_cwnd_limited || tcp_snd_cwnd(tp) < bbr->inflight_hi)
		return;
	bbr->bw_probe_up_acks += rs->acked_sacked;
	cnt = bbr2_probe_up_cnt(tcp_snd_cwnd(tp), bbr->bw_probe_up_rounds);
	delta = bbr->bw_probe_up_acks / cnt;
	bbr->bw_probe_up_acks -= delta * cnt;
	bbr->inflight_hi = min_t(u64, (u64)bbr->inflight_hi + delta,
				 BBR2_INFINITY - 1);
	if (bbr->round_start && bbr->bw_probe_up_rounds < 30)
		bbr->bw_probe_up_rounds++;
}

static void bbr2_adapt_upper_bounds(struct sock *sk,
				    const struct rate_sample *rs)
{
	struct bbr2 *bbr = inet_csk_ca(sk);

	if (bbr->ack_phase == BBR2_ACKS_PROBE_STARTING && bbr->round_start)
		bbr->ack_phase = BBR2_ACKS_PROBE_FEEDBACK;
	if (bbr->ack_phase == BBR2_ACKS_PROBE_STOPPING && bbr->round_start) {
		bbr->ack_phase = BBR2_ACKS_INIT;
		bbr->bw_probe_samples = 0;
		if (bbr2_is_in_a_probe_bw_state(bbr) && !rs->is_app_limited)
			bbr2_advance_max_bw_filter(bbr);
	}

	if (bbr2_check_inflight_too_high(sk, rs) ||
	    bbr->inflight_hi == BBR2_INFINITY || !bbr->bw_probe_samples)
		return;
	bbr->inflight_hi = max(bbr->inflight_hi, rs->prior_in_flight);
	if (bbr->state == BBR2_PROBE_BW_UP)
		bbr2_probe_inflight_hi_upward(sk, rs);
}

static void bbr2_update_probe_bw_cycle_phase(struct sock *sk,
					     const struct rate_sample *rs)
{
	struct bbr2 *bbr = inet_csk_ca(sk);

	if (!bbr->filled_pipe)
		return;
	bbr2_adapt_upper_bounds(sk, rs);

	switch (bbr->state) {
	case BBR2_PROBE_BW_DOWN:
		if (!bbr2_check_time_to_probe_bw(sk) &&
		    bbr2_check_time_to_cruise(sk, rs->prior_in_flight))
			bbr2_start_probe_bw_cruise(bbr);
		break;
	case BBR2_PROBE_BW_CRUISE:
		bbr2_check_time_to_probe_bw(sk);
		break;
	case BBR2_PROBE_BW_REFILL:
		if (bbr->round_start) {
			bbr->bw_probe_samples = 1;
			bbr2_start_probe_bw_up(sk);
		}
		break;
	case BBR2_PROBE_BW_UP:
		if (bbr2_has_elapsed_in_phase(sk, bbr->min_rtt_us) &&
		    rs->prior_in_flight >
		    bbr2_inflight(sk, bbr2_max_bw(bbr), bbr2_pacing_gain(bbr)))
			bbr2_start_probe_bw_down(sk);
		break;
	default:
		break;
	}
}

/* 4.3.4.4. Returns whether to enter ProbeRTT. */
static bool bbr2_update_min_rtt(struct sock *sk, const struct rate_sample *rs)
{
	struct bbr2 *bbr = inet_csk_ca(sk);
	bool probe_rtt_expired, min_rtt_expired;

	probe_rtt_expired = after(tcp_jiffies32, bbr->probe_rtt_min_stamp +
						 bbr2_probe_rtt_interval);
	if (rs->rtt_us >= 0 && (rs->rtt_us < bbr->probe_rtt_min_us ||
				(probe_rtt_expired && !rs->is_ack_delayed))) {
		bbr->probe_rtt_min_us = rs->rtt_us;
		bbr->probe_rtt_min_stamp = tcp_jiffies32;
	}

	min_rtt_expired = after(tcp_jiffies32, bbr->min_rtt_stamp +
					       bbr2_min_rtt_filter_len);
	if (bbr->probe_rtt_min_us < bbr->min_rtt_us || min_rtt_expired) {
		bbr->min_rtt_us = bbr->probe_rtt_min_us;
		bbr->min_rtt_stamp = bbr->probe_rtt_min_stamp;
	}
	return probe_rtt_expired;
}

/* 4.6.4.5 */
static u32 bbr2_probe_rtt_cwnd(const struct bbr2 *bbr)
{
	return max(bbr2_bdp(bbr, bbr2_bw(bbr), bbr2_cwnd_gains[BBR2_PROBE_RTT]),
		   BBR2_MIN_PIPE_CWND);
}

/* 4.3.4.5 */
static void bbr2_exit_probe_rtt(struct sock *sk)
{
	struct bbr2 *bbr = inet_csk_ca(sk);

	bbr2_reset_lower_bounds(bbr);
	if (bbr->filled_pipe) {
		bbr2_start_probe_bw_down(sk);
		bbr2_start_probe_bw_cruise(bbr);
	} else {
		bbr->state = BBR2_STARTUP;
	}
}

static void bbr2_check_probe_rtt_done(struct sock *sk)
{
	struct bbr2 *bbr = inet_csk_ca(sk);

	if (!bbr->probe_rtt_done_stamp ||
	    !after(tcp_jiffies32, bbr->probe_rtt_done_stamp))
		return;
	bbr->probe_rtt_min_stamp = tcp_jiffies32;
	bbr2_restore_cwnd(sk);
	bbr2_exit_probe_rtt(sk);
}

static void bbr2_handle_probe_rtt(struct sock *sk)
{
	struct bbr2 *bbr = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	/* MarkConnectionAppLimited(): rates are deliberately low */
	tp->app_limited = (tp->delivered + tcp_packets_in_flight(tp)) ?: 1;
	if (!bbr->probe_rtt_done_stamp) {
		if (tcp_packets_in_flight(tp) > bbr2_probe_rtt_cwnd(bbr))
			return;
		bbr->probe_rtt_done_stamp = (tcp_jiffies32 +
			msecs_to_jiffies(bbr2_probe_rtt_duration_ms)) ?: 1;
		bbr->probe_rtt_round_done = 0;
		bbr2_start_round(sk);
		return;
	}
	if (bbr->round_start)
		bbr->probe_rtt_round_done = 1;
	if (bbr->probe_rtt_round_done)
		bbr2_check_probe_rtt_done(sk);
}

static void bbr2_check_probe_rtt(struct sock *sk, const struct rate_sample *rs,
				 bool expired)
{
	struct bbr2 *bbr = inet_csk_ca(sk);

	if (bbr->state != BBR2_PROBE_RTT && expired && !bbr->idle_restart) {
		bbr->prior_cwnd = bbr2_save_cwnd(sk);
		bbr->state = BBR2_PROBE_RTT;
		bbr->probe_rtt_done_stamp = 0;
		bbr->ack_phase = BBR2_ACKS_PROBE_STOPPING;
		bbr2_start_round(sk);
	}
	if (bbr->state == BBR2_PROBE_RTT)
		bbr2_handle_probe_rtt(sk);
	if (rs->delivered > 0)
		bbr->idle_restart = 0;
}

/* 4.6.4.4 */
static u32 bbr2_modulate_cwnd_for_recovery(struct sock *sk,
					   const struct rate_sample *rs)
{
	struct bbr2 *bbr = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u8 state = inet_csk(sk)->icsk_ca_state, prev = bbr->prev_ca_state;
	u32 cwnd = tcp_snd_cwnd(tp);

	if (rs->losses > 0)
		cwnd = max_t(s32, cwnd - rs->losses, 1);

	if (state == TCP_CA_Recovery && prev != TCP_CA_Recovery) {
		bbr->packet_conservation = 1;
		bbr2_start_round(sk);
		cwnd = tcp_packets_in_flight(tp) + rs->acked_sacked;
	} else if (prev >= TCP_CA_Recovery && state < TCP_CA_Recovery) {
		bbr->packet_conservation = 0;
		cwnd = max(cwnd, bbr->prior_cwnd);
	}
	bbr->prev_ca_state = state;

	if (bbr->packet_conservation)
		cwnd = max(cwnd, tcp_packets_in_flight(tp) + rs->acked_sacked);
	return cwnd;
}

/* 4.6.4.7 */
static u32 bbr2_cwnd_cap_for_model(const struct bbr2 *bbr)
{
	u32 cap = BBR2_INFINITY;

	if (bbr->state == BBR2_PROBE_RTT || bbr->state == BBR2_PROBE_BW_CRUISE)
		cap = bbr2_inflight_with_headroom(bbr->inflight_hi);
	else if (bbr2_is_in_a_probe_bw_state(bbr))
		cap = bbr->inflight_hi;
	return max(min(cap, bbr->inflight_lo), BBR2_MIN_PIPE_CWND);
}

/* 4.6.4.6 */
static void bbr2_set_cwnd(struct sock *sk, const struct rate_sample *rs)
{
	struct bbr2 *bbr = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp), max_inflight;

	if (rs->acked_sacked) {
		max_inflight = bbr2_max_inflight(sk);
		cwnd = bbr2_modulate_cwnd_for_recovery(sk, rs);
		if (!bbr->packet_conservation) {
			if (bbr->filled_pipe)
				cwnd = min(cwnd + rs->acked_sacked,
					   max_inflight);
			else if (cwnd < max_inflight ||
				 tp->delivered < TCP_INIT_CWND)
				cwnd += rs->acked_sacked;
			cwnd = max(cwnd, BBR2_MIN_PIPE_CWND);
		}
	}
	if (bbr->state == BBR2_PROBE_RTT)
		cwnd = min(cwnd, bbr2_probe_rtt_cwnd(bbr));
	cwnd = min3(cwnd, bbr2_cwnd_cap_for_model(bbr), tp->snd_cwnd_clamp);
	tcp_snd_cwnd_set(tp, cwnd);
}

/* 4.2.3, BBRUpdateOnACK() */
static void bbr2_main(struct sock *sk, u32 seq, int flag,
		      const struct rate_sample *rs)
{
	struct bbr2 *bbr = inet_csk_ca(sk);
	struct bbr2_ack ack = { .rs = rs };
	bool expired;

	bbr->round_start = 0;
	bbr->loss_round_start = 0;
	bbr2_note_loss(bbr, rs->losses);

	if (rs->delivered > 0 && rs->interval_us > 0) {
		ack.delivery_rate = bbr2_delivery_rate(rs->delivered,
						       rs->interval_us);
		bbr2_update_latest_delivery_signals(sk, &ack);
		bbr2_update_congestion_signals(sk, &ack);
		bbr2_update_ack_aggregation(sk, rs);
		bbr2_check_startup_done(sk, rs);
	}
	bbr2_check_drain(sk);
	bbr2_update_probe_bw_cycle_phase(sk, rs);
	expired = bbr2_update_min_rtt(sk, rs);
	bbr2_check_probe_rtt(sk, rs, expired);
	bbr2_advance_latest_delivery_signals(bbr, &ack);

	bbr2_set_pacing_rate_with_gain(sk, bbr2_pacing_gain(bbr));
	bbr2_set_cwnd(sk, rs);
}

/* 4.4.3, BBRHandleRestartFromIdle() */
static void bbr2_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct bbr2 *bbr = inet_csk_ca(sk);

	if (event != CA_EVENT_TX_START || !tcp_sk(sk)->app_limited)
		return;
	bbr->idle_restart = 1;
	bbr->extra_acked_start_us = bbr2_now_us(sk);
	bbr->extra_acked_delivered = 0;
	if (bbr2_is_in_a_probe_bw_state(bbr))
		bbr2_set_pacing_rate_with_gain(sk, BBR2_UNIT);
	else if (bbr->state == BBR2_PROBE_RTT)
		bbr2_check_probe_rtt_done(sk);
}

/* 4.6.4.4: recovery starts; cwnd and bounds may have to be restored */
static u32 bbr2_ssthresh(struct sock *sk)
{
	struct bbr2 *bbr = inet_csk_ca(sk);

	bbr->prior_cwnd = bbr2_save_cwnd(sk);
	bbr->undo_bw_lo = bbr->bw_lo;
	bbr->undo_inflight_hi = bbr->inflight_hi;
	bbr->undo_inflight_lo = bbr->inflight_lo;
	return tcp_sk(sk)->snd_ssthresh;
}

/* The losses were spurious */
static u32 bbr2_undo_cwnd(struct sock *sk)
{
	struct bbr2 *bbr = inet_csk_ca(sk);

	bbr->full_bw = 0;
	bbr->full_bw_count = 0;
	bbr->loss_in_round = 0;
	bbr->lost_in_round = 0;
	bbr->loss_events = 0;
	bbr->bw_lo = max(bbr->bw_lo, bbr->undo_bw_lo);
	bbr->inflight_hi = max(bbr->inflight_hi, bbr->undo_inflight_hi);
	bbr->inflight_lo = max(bbr->inflight_lo, bbr->undo_inflight_lo);
	return max(tcp_snd_cwnd(tcp_sk(sk)), bbr->prior_cwnd);
}

/* A timeout. Its losses are reported between ACKs, and cwnd is 1 segment. */
static void bbr2_set_state(struct sock *sk, u8 new_state)
{
	struct bbr2 *bbr = inet_csk_ca(sk);

	if (new_state != TCP_CA_Loss)
		return;
	bbr->prev_ca_state = TCP_CA_Loss;
	bbr->full_bw = 0;
	bbr->packet_conservation = 0;
	bbr2_note_loss(bbr, 1);
	if (!bbr2_is_probing_bw(bbr))
		bbr2_init_lower_bounds(bbr, bbr->prior_cwnd);
	else if (bbr->bw_probe_samples)
		bbr2_handle_inflight_too_high(sk, 0, tcp_sk(sk)->app_limited);
}

/* 4.2.1, BBROnInit() */
static void bbr2_init(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr2 *bbr = inet_csk_ca(sk);

	memset(bbr, 0, sizeof(*bbr));
	bbr->state = BBR2_STARTUP;
	bbr->ack_phase = BBR2_ACKS_INIT;
	bbr->prev_ca_state = TCP_CA_Open;
	bbr->min_rtt_us = tcp_min_rtt(tp);
	bbr->min_rtt_stamp = tcp_jiffies32;
	bbr->probe_rtt_min_us = bbr->min_rtt_us;
	bbr->probe_rtt_min_stamp = tcp_jiffies32;
	bbr->inflight_hi = BBR2_INFINITY;
	bbr2_reset_lower_bounds(bbr);
	bbr->next_round_delivered = tp->delivered;
	bbr->loss_round_delivered = tp->delivered;
	bbr->extra_acked_start_us = bbr2_now_us(sk);
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	bbr2_init_pacing_rate(sk);

	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

/* Recovery may send twice the data acknowledged, as in BBR */
static u32 bbr2_sndbuf_expand(struct sock *sk)
{
	return 3;
}

static size_t bbr2_get_info(struct sock *sk, u32 ext, int *attr,
			    union tcp_cc_info *info)
{
	const struct bbr2 *bbr = inet_csk_ca(sk);
	u64 bw;

	if (!(ext & (1 << (INET_DIAG_BBRINFO - 1) |
		     1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;

	bw = mul_u64_u32_shr((u64)bbr2_bw(bbr) * tcp_sk(sk)->mss_cache,
			     USEC_PER_SEC, BBR2_BW_SCALE);
	memset(&info->bbr, 0, sizeof(info->bbr));
	info->bbr.bbr_bw_lo		= lower_32_bits(bw);
	info->bbr.bbr_bw_hi		= upper_32_bits(bw);
	info->bbr.bbr_min_rtt		= bbr->min_rtt_us;
	info->bbr.bbr_pacing_gain	= bbr2_pacing_gain(bbr);
	info->bbr.bbr_cwnd_gain		= bbr2_cwnd_gains[bbr->state];
	*attr = INET_DIAG_BBRINFO;
	return sizeof(info->bbr);
}

static struct tcp_congestion_ops tcp_bbr2_cong_ops __read_mostly = {
	.flags		= TCP_CONG_NON_RESTRICTED,
	.name		= "bbr2",
	.owner		= THIS_MODULE,
	.init		= bbr2_init,
	.cong_control	= bbr2_main,
	.sndbuf_expand	= bbr2_sndbuf_expand,
	.undo_cwnd	= bbr2_undo_cwnd,
	.cwnd_event	= bbr2_cwnd_event,
	.ssthresh	= bbr2_ssthresh,
	.min_tso_segs	= bbr2_min_tso_segs,
	.get_info	= bbr2_get_info,
	.set_state	= bbr2_set_state,
};

static int __init bbr2_register(void)
{
	BUILD_BUG_ON(sizeof(struct bbr2) > ICSK_CA_PRIV_SIZE);

	return tcp_register_congestion_control(&tcp_bbr2_cong_ops);
}

static void __exit bbr2_unregister(void)
{
	tcp_unregister_congestion_control(&tcp_bbr2_cong_ops);
}

module_init(bbr2_register);
module_exit(bbr2_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP BBRv2 (draft-cardwell-iccrg-bbr-congestion-control-02)");
