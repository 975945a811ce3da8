/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arithmetic of the policy "auto": when is an ACK due?
 *
 * Pure functions, tested by KUnit.
 */
#ifndef _TCP_ACKPOL_AUTO_H
#define _TCP_ACKPOL_AUTO_H

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>

/* Rounds without growth after which slow start is assumed to have ended */
#define TCP_AUTO_FLAT_ROUNDS	3

/* An ACK at least for this share of the segments received before */
#define TCP_AUTO_SHARE		64

/* And for this share of the data of a round trip */
#define TCP_AUTO_SHARE_OF_RTT	4

/* Estimates below are not used: timestamps count milliseconds */
#define TCP_AUTO_MIN_RTT_US	(2 * USEC_PER_MSEC)

/* With fewer segments per round trip there is little to save */
#define TCP_AUTO_MIN_SEGS	8

/* Silence after which the sender is assumed to wait, as a share of the RTT */
#define TCP_AUTO_PAUSES_PER_RTT	16

/* Sysctls tcp_auto_*, per network namespace */
struct tcp_auto_params {
	int interval_us;
	int acks_per_rtt;
	int pause_us;
};

#define TCP_AUTO_PARAMS_DEFAULT {		\
	.interval_us	= 5000,			\
	.acks_per_rtt	= 4,			\
	.pause_us	= 1500,			\
}

/**
 * struct tcp_auto - what the receiver knows about the sender
 * @round_us: start of the current round, 0 if there is none
 * @round_seq: rcv_nxt at that time
 * @round_bytes: received in the last round trip
 * @bytes_per_ms: highest rate of a round, as a reference for growth
 * @received: segments received since slow start may have begun
 * @flat_rounds: rounds since the rate last grew by a quarter
 */
struct tcp_auto {
	u64 round_us;
	u32 round_seq;
	u32 round_bytes;
	u32 bytes_per_ms;
	u32 received;
	u32 flat_rounds;
};

/* The sender may be in slow start: at the start, and after a pause */
static inline void tcp_auto_start(struct tcp_auto *state)
{
	*state = (struct tcp_auto){};
}

/* Data is missing: what arrives is not yet counted in rcv_nxt */
static inline void tcp_auto_hole(struct tcp_auto *state)
{
	state->round_us = 0;
}

/* Data arrived in order at @now_us. A round lasts for at least one round trip.
 *
 * In slow start the rate doubles with each round until the path is full. The
 * sender does not notice that before another round trip, so three rounds
 * without growth are the end (as in BBR's startup).
 */
static inline void tcp_auto_arrival(struct tcp_auto *state, u64 now_us,
				    u32 rcv_nxt, u32 rtt_us)
{
	u32 bytes, bytes_per_ms;
	u64 us;

	if (!state->round_us) {
		state->round_us = now_us;
		state->round_seq = rcv_nxt;
		return;
	}

	us = now_us - state->round_us;
	if (!rtt_us || us < rtt_us)
		return;

	bytes = rcv_nxt - state->round_seq;
	bytes_per_ms = div64_u64((u64)bytes * USEC_PER_MSEC, us);
	if (bytes_per_ms > state->bytes_per_ms + state->bytes_per_ms / 4) {
		state->bytes_per_ms = bytes_per_ms;
		state->flat_rounds = 0;
	} else if (state->flat_rounds < TCP_AUTO_FLAT_ROUNDS) {
		state->flat_rounds++;
	}
	state->round_bytes = div64_u64((u64)bytes * rtt_us, us);
	state->round_us = now_us;
	state->round_seq = rcv_nxt;
}

/* May the sender be in slow start? */
static inline bool tcp_auto_may_grow(const struct tcp_auto *state)
{
	return state->flat_rounds < TCP_AUTO_FLAT_ROUNDS;
}

/* Does the sender need as many ACKs as TCP sends without a policy? */
static inline bool tcp_auto_like_default(const struct tcp_auto *state, u32 mss,
					 u32 rtt_us)
{
	return rtt_us < TCP_AUTO_MIN_RTT_US ||
	       tcp_auto_may_grow(state) ||
	       state->round_bytes < TCP_AUTO_MIN_SEGS * mss;
}

/* Are @bytes in @segs segments a large part of the data in flight? */
static inline bool tcp_auto_large(const struct tcp_auto *state, u32 bytes,
				  u32 segs)
{
	return bytes >= state->round_bytes / TCP_AUTO_SHARE_OF_RTT ||
	       segs >= state->received / TCP_AUTO_SHARE;
}

/* Time from the first segment to its ACK */
static inline u32 tcp_auto_interval_us(const struct tcp_auto_params *params,
				       u32 rtt_us)
{
	return min_t(u32, READ_ONCE(params->interval_us),
		     rtt_us / READ_ONCE(params->acks_per_rtt));
}

/* Delay of the ACK after the last segment, which arrived at @now_us, the first
 * at @first_us.
 *
 * An arrival is a better time than a timer: data that arrives together is
 * acknowledged together. The timer is for senders that wait for the ACK, and
 * for the end of the data.
 */
static inline u32 tcp_auto_delay_us(const struct tcp_auto_params *params,
				    u64 first_us, u64 now_us, u32 rtt_us)
{
	u32 interval_us = tcp_auto_interval_us(params, rtt_us);
	u32 pause_us = min_t(u32, READ_ONCE(params->pause_us),
			     rtt_us / TCP_AUTO_PAUSES_PER_RTT);

	if (now_us - first_us >= interval_us)
		return 0;

	return min_t(u64, first_us + 2 * interval_us - now_us, pause_us);
}

#endif /* _TCP_ACKPOL_AUTO_H */
