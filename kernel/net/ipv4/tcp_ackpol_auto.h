/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arithmetic of the policy "auto": when is an ACK due?
 *
 * Pure functions, tested by KUnit, and also compiled as BPF.
 */
#ifndef _TCP_ACKPOL_AUTO_H
#define _TCP_ACKPOL_AUTO_H

#ifndef __bpf__
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>
#endif

/* Rounds without growth after which slow start is assumed to have ended */
#define TCP_AUTO_FLAT_ROUNDS	3

/* An ACK at least for this share of the segments received before */
#define TCP_AUTO_SHARE		64

/* And for this share of the data of a round trip */
#define TCP_AUTO_SHARE_OF_RTT	4

/* An ACK may be late by this share of the queueing delay */
#define TCP_AUTO_SHARE_OF_QUEUE	4

/* The shortest interval is at most this share of the RTT */
#define TCP_AUTO_MIN_INTERVALS	16

/* With fewer segments per interval there is little to save */
#define TCP_AUTO_MIN_SEGS	8

/* Rounds in the moving average of the rate */
#define TCP_AUTO_MEAN_ROUNDS	16

/* With bursts, the interval is at most the longest one times this */
#define TCP_AUTO_BURST_INTERVALS	3

/* Rounds without growth after which the average is the rate of the path */
#define TCP_AUTO_STEADY_ROUNDS	\
	(TCP_AUTO_FLAT_ROUNDS + 2 * TCP_AUTO_MEAN_ROUNDS)

/* A sender whose connection was idle for its retransmission timeout starts
 * again with slow start (RFC 5681, 4.1).
 */
#define TCP_AUTO_IDLE_US	(200 * USEC_PER_MSEC)

/* Sysctls tcp_auto_*, per network namespace */
struct tcp_auto_params {
	int min_interval_us;
	int max_interval_us;
};

#define TCP_AUTO_PARAMS_DEFAULT {		\
	.min_interval_us	= 2000,		\
	.max_interval_us	= 10000,	\
}

/**
 * struct tcp_auto - what the receiver knows about the sender
 * @round_us: start of the current round, 0 if there is none
 * @round_seq: rcv_nxt at that time
 * @round_bytes: received in the last round trip
 * @bytes_per_ms: highest rate of a round, as a reference for growth
 * @received: segments received since slow start may have begun; if it wraps
 *	around, a few more ACKs are sent
 * @mean_per_ms: moving average of the rate
 * @highest_per_ms: the highest such average on this path, 0 until it is known
 * @min_rtt_us: shortest round trip time on this path, 0 if unknown
 * @interval_us: from the first segment to its ACK, 0: as TCP without a policy
 * @pause_us: silence after which the ACK is sent
 * @latest_us: from the first segment to the ACK if nothing more arrives
 * @gap_us: a shorter time without arrivals is not a gap between bursts
 * @gaps_us: time in the current round that is part of such gaps
 * @gaps: number of these gaps
 * @flat_rounds: rounds since the rate last grew by a quarter, at most
 *	%TCP_AUTO_STEADY_ROUNDS
 * @is_bursty: gaps were half of the last round or more
 */
struct tcp_auto {
	u64 round_us;
	u32 round_seq;
	u32 round_bytes;
	u32 bytes_per_ms;
	u32 received;
	u32 mean_per_ms;
	u32 highest_per_ms;
	u32 min_rtt_us;
	u32 interval_us;
	u32 pause_us;
	u32 latest_us;
	u32 gap_us;
	u32 gaps_us;
	u16 gaps;
	u8 flat_rounds;
	bool is_bursty;
};

/* The sender may be in slow start: at the start, and after a pause */
static inline void tcp_auto_start(struct tcp_auto *state)
{
	*state = (struct tcp_auto){
		.min_rtt_us = state->min_rtt_us,
		.highest_per_ms = state->highest_per_ms,
	};
}

/* Data arrived, in order or not, @gap_us after the data before. For the first data
 * this is also a start, which does no harm.
 */
static inline void tcp_auto_gap(struct tcp_auto *state, u64 gap_us)
{
	if (gap_us < state->gap_us)
		return;

	if (gap_us > TCP_AUTO_IDLE_US) {
		tcp_auto_start(state);
		return;
	}

	state->gaps_us += gap_us;
	state->gaps++;
}

/* Data is missing: what arrives is not yet counted in rcv_nxt */
static inline void tcp_auto_hole(struct tcp_auto *state)
{
	state->round_us = 0;
}

/* Data arrived in order until @now_us. A round lasts for at least one round trip.
 *
 * Return: has a round ended?
 */
static inline bool __must_check tcp_auto_arrival(struct tcp_auto *state,
						 u64 now_us, u32 rcv_nxt,
						 u32 rtt_us)
{
	if (rtt_us && (!state->min_rtt_us || rtt_us < state->min_rtt_us))
		state->min_rtt_us = rtt_us;

	if (!state->round_us) {
		state->round_us = now_us;
		state->round_seq = rcv_nxt;
		state->gaps_us = 0;
		state->gaps = 0;
		return false;
	}

	return rtt_us && now_us - state->round_us >= rtt_us;
}

/* May the sender be in slow start? */
static inline bool tcp_auto_may_grow(const struct tcp_auto *state)
{
	return state->flat_rounds < TCP_AUTO_FLAT_ROUNDS;
}

/* Average the rate of rounds after slow start */
static inline void tcp_auto_average(struct tcp_auto *state, u32 bytes_per_ms)
{
	if (tcp_auto_may_grow(state)) {
		state->mean_per_ms = bytes_per_ms;
		return;
	}

	state->mean_per_ms += bytes_per_ms / TCP_AUTO_MEAN_ROUNDS -
			      state->mean_per_ms / TCP_AUTO_MEAN_ROUNDS;
	if (state->flat_rounds == TCP_AUTO_STEADY_ROUNDS)
		state->highest_per_ms = max(state->highest_per_ms,
					    state->mean_per_ms);
}

/* Measure the round that ended, and start the next one.
 *
 * In slow start the rate doubles with each round until the path is full. The
 * sender does not notice that before another round trip, so three rounds
 * without growth are the end (as in BBR's startup).
 *
 * Return: mean time in microseconds from one burst to the next, 0 if gaps between
 * bursts made up less than half of the round
 */
static inline u32 tcp_auto_end_round(struct tcp_auto *state, u64 now_us,
				     u32 rcv_nxt, u32 rtt_us)
{
	u32 bytes = rcv_nxt - state->round_seq;
	u64 us = now_us - state->round_us;
	u32 bytes_per_ms;
	u32 burst_us = 0;

	bytes_per_ms = div64_u64((u64)bytes * USEC_PER_MSEC, us);
	if (bytes_per_ms > state->bytes_per_ms + state->bytes_per_ms / 4) {
		state->bytes_per_ms = bytes_per_ms;
		state->flat_rounds = 0;
	} else if (state->flat_rounds < TCP_AUTO_STEADY_ROUNDS) {
		state->flat_rounds++;
	}
	tcp_auto_average(state, bytes_per_ms);
	state->round_bytes = div64_u64((u64)bytes * rtt_us, us);
	if (state->gaps && state->gaps_us >= us / 2)
		burst_us = div_u64(us, state->gaps);
	state->gaps_us = 0;
	state->gaps = 0;
	state->round_us = now_us;
	state->round_seq = rcv_nxt;
	return burst_us;
}

/* Did the path change?
 *
 * While data waits in queues, the rate is that of the path. If it falls to less
 * than three quarters, either the path has become slower, which includes others
 * who share it; or its RTT has become longer or the window smaller (as when BBR
 * probes for the RTT), and no data waits any more. The RTT is then that of the path.
 * For a slower path it is too long, so more ACKs are sent, until it falls.
 */
static inline void tcp_auto_check_path(struct tcp_auto *state, u32 rtt_us)
{
	if (state->flat_rounds < TCP_AUTO_STEADY_ROUNDS ||
	    state->mean_per_ms >= state->highest_per_ms -
				  state->highest_per_ms / 4)
		return;

	state->bytes_per_ms = state->mean_per_ms;
	state->highest_per_ms = 0;
	state->flat_rounds = 0;
	state->min_rtt_us = rtt_us;
}

/* The shortest time from the first segment to its ACK, and the shortest silence */
static inline u32
tcp_auto_min_interval_us(const struct tcp_auto_params *params, u32 rtt_us)
{
	return min_t(u32, READ_ONCE(params->min_interval_us),
		     rtt_us / TCP_AUTO_MIN_INTERVALS);
}

/* Data that waits for this long hardly waits in queues. An aggregate takes about as
 * long, however short the RTT is.
 */
static inline u32 tcp_auto_empty_us(const struct tcp_auto_params *params)
{
	u32 interval_us = READ_ONCE(params->min_interval_us);

	return interval_us + interval_us / 2;
}

/* The queueing delay */
static inline u32 tcp_auto_queue_us(u32 rtt_us, u32 min_rtt_us)
{
	return rtt_us - min(rtt_us, min_rtt_us);
}

/* Time from the first segment to its ACK. What queues hold is sent meanwhile. */
static inline u32 tcp_auto_interval_us(const struct tcp_auto_params *params,
				       u32 rtt_us, u32 min_rtt_us)
{
	u32 queue_us = tcp_auto_queue_us(rtt_us, min_rtt_us);

	return min_t(u32, READ_ONCE(params->max_interval_us),
		     max(queue_us / TCP_AUTO_SHARE_OF_QUEUE,
			 tcp_auto_min_interval_us(params, rtt_us)));
}

/* Are bursts too rare to share an ACK, one in @interval_us?
 *
 * TCP acknowledges a burst while it arrives, in one channel access. An ACK for two
 * bursts saves one. But if not even one and a half arrive while the ACK may wait, a
 * timer would send an ACK for each, just when the medium serves other stations.
 */
static inline bool tcp_auto_rare_bursts(const struct tcp_auto *state,
					const struct tcp_auto_params *params,
					u32 interval_us)
{
	return state->is_bursty &&
	       (interval_us > state->latest_us ||
		interval_us > TCP_AUTO_BURST_INTERVALS *
			      (u32)READ_ONCE(params->max_interval_us));
}

/* Is there nothing to gain, or does the sender need as many ACKs as TCP sends
 * without a policy?
 *
 * If queues are nearly empty, the sender waits for ACKs, and a shallow queue may
 * not hold the burst with which it answers a late one. So it is on a cable that
 * is faster than the window permits, and while losses keep the window small. The
 * queue of a busy access point holds more than an aggregate or two.
 */
static inline bool tcp_auto_like_default(const struct tcp_auto *state,
					 const struct tcp_auto_params *params,
					 u32 interval_us, u32 mss, u32 rtt_us)
{
	return tcp_auto_may_grow(state) ||
	       tcp_auto_queue_us(rtt_us, state->min_rtt_us) <=
	       tcp_auto_empty_us(params) ||
	       tcp_auto_rare_bursts(state, params, interval_us) ||
	       (u64)state->round_bytes * interval_us <
	       (u64)TCP_AUTO_MIN_SEGS * mss * rtt_us;
}

/* After a round, decide how long ACKs wait in the next one, given the time
 * @burst_us from one burst to the next, 0 if there are no bursts.
 *
 * A silence is the end of the data, or the sender waits for the ACK. With a
 * queue that doubles the RTT a sender does not wait; if nothing arrives for a
 * while, others have the medium. So it is between bursts: the ACK is sent at the
 * start of every second burst, or by the timer if that is late.
 */
static inline void tcp_auto_decide(struct tcp_auto *state,
				   const struct tcp_auto_params *params,
				   u32 burst_us, u32 mss, u32 rtt_us)
{
	u32 interval_us;

	tcp_auto_check_path(state, rtt_us);
	interval_us = tcp_auto_interval_us(params, rtt_us, state->min_rtt_us);
	state->latest_us = rtt_us / 2;
	state->gap_us = tcp_auto_min_interval_us(params, rtt_us);
	state->is_bursty = burst_us;
	if (burst_us) {
		interval_us = max(interval_us, burst_us + burst_us / 2);
		state->latest_us = rtt_us - rtt_us / 8;
	}
	state->pause_us = state->gap_us;
	if (burst_us || rtt_us / 2 > state->min_rtt_us)
		state->pause_us = state->latest_us;

	if (tcp_auto_like_default(state, params, interval_us, mss, rtt_us))
		interval_us = 0;
	state->interval_us = interval_us;
}

/* Are @bytes in @segs segments a large part of the data in flight? A burst may be
 * that without harm.
 */
static inline bool tcp_auto_large(const struct tcp_auto *state, u32 bytes,
				  u32 segs)
{
	return (bytes >= state->round_bytes / TCP_AUTO_SHARE_OF_RTT &&
		!state->is_bursty) || segs >= state->received / TCP_AUTO_SHARE;
}

/* Delay of the ACK after the last segment, which arrived at @now_us, the first
 * at @first_us.
 *
 * An arrival is a better time than a timer: data that arrives together is
 * acknowledged together. The timer is for a silence.
 */
static inline u32 tcp_auto_delay_us(const struct tcp_auto *state, u64 first_us,
				    u64 now_us)
{
	u64 waited_us = now_us - first_us;

	if (waited_us >= state->interval_us)
		return 0;

	return min_t(u32, state->latest_us - waited_us, state->pause_us);
}

#endif /* _TCP_ACKPOL_AUTO_H */
