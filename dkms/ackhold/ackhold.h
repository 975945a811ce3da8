/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Decisions of the qdisc "ackhold": which ACK may wait, for how long, and which
 * segment replaces it
 *
 * Pure functions without packets, sockets or clocks, tested in user space. How
 * long an ACK waits is the arithmetic of the ACK policy "auto".
 */
#ifndef _ACKHOLD_H
#define _ACKHOLD_H

#include "tcp_ackpol_auto.h"

#define ACKHOLD_FIN	0x001
#define ACKHOLD_SYN	0x002
#define ACKHOLD_RST	0x004
#define ACKHOLD_PSH	0x008
#define ACKHOLD_ACK	0x010
/* With the reserved flags and those of ECN */
#define ACKHOLD_FLAGS	0xfff

/* Octets of a TCP header */
#define ACKHOLD_TCP_MIN	20
#define ACKHOLD_TCP_MAX	60

/**
 * struct ackhold_segment - what a TCP segment says
 * @ack: acknowledgment number
 * @tsval: timestamp value, if @has_ts
 * @tsecr: timestamp echo reply, if @has_ts
 * @payload: octets of data
 * @flags: all 12 flags
 * @window: the field, not shifted
 * @has_ts: it has timestamps
 * @has_sack: it has SACK blocks
 * @plain: it has no other option than timestamps
 */
struct ackhold_segment {
	u32 ack;
	u32 tsval;
	u32 tsecr;
	u32 payload;
	u16 flags;
	u16 window;
	bool has_ts;
	bool has_sack;
	bool plain;
};

/**
 * struct ackhold_socket - what the socket of a connection knows
 * @rtt_us: the receiver's estimate of the round trip time, 0 if unknown
 * @mss: size of a full segment
 * @shift: of windows
 */
struct ackhold_socket {
	u32 rtt_us;
	u32 mss;
	u8 shift;
};

/**
 * struct ackhold_flow - the ACKs of one direction of a connection
 * @timing: the state of "auto"
 * @sk: what the socket knows
 * @arrival_us: time of the newest segment
 * @first_us: since when data waits for the held ACK
 * @due_us: when the held ACK is sent if nothing else happens
 * @ack: newest acknowledgment number
 * @sent_ack: the one that was last sent
 * @tsval: newest timestamp value, if @has_ts
 * @tsecr: its timestamp echo reply
 * @window: newest window, not shifted
 * @is_known: the members from @ack to @window are valid
 * @is_held: an ACK is held; it is the newest segment
 * @has_ts: the newest segment had timestamps
 * @has_hole: data is missing at the receiver
 */
struct ackhold_flow {
	struct tcp_auto timing;
	struct ackhold_socket sk;
	u64 arrival_us;
	u64 first_us;
	u64 due_us;
	u32 ack;
	u32 sent_ack;
	u32 tsval;
	u32 tsecr;
	u16 window;
	bool is_known;
	bool is_held;
	bool has_ts;
	bool has_hole;
};

/**
 * struct ackhold_params - parameters of the module
 * @timing: those of "auto"
 * @max_hold_us: longest time for which data waits for an ACK in the qdisc
 */
struct ackhold_params {
	struct tcp_auto_params timing;
	unsigned int max_hold_us;
};

/* "auto" waits for an arrival for at most 10 ms, and longer only in silence and
 * between bursts. Twice 10 ms is half of the shortest delayed ACK timer of Linux,
 * and a tenth of its shortest retransmission timeout.
 */
#define ACKHOLD_PARAMS_DEFAULT {			\
	.timing		= TCP_AUTO_PARAMS_DEFAULT,	\
	.max_hold_us	= 20000,			\
}

/**
 * struct ackhold_verdict - what is done with a segment, and with the ACK before
 * @drop_held: drop the held ACK, which the segment replaces
 * @send_held: send the held ACK before the segment
 * @hold: hold the segment
 */
struct ackhold_verdict {
	bool drop_held;
	bool send_held;
	bool hold;
};

static inline bool ackhold_after(u32 a, u32 b)
{
	return (s32)(a - b) > 0;
}

static inline u32 ackhold_be32(const u8 *octets)
{
	return (u32)octets[0] << 24 | octets[1] << 16 | octets[2] << 8 |
	       octets[3];
}

/* Read an option. Return: is it well-formed? */
static inline bool ackhold_option(struct ackhold_segment *seg, const u8 *option,
				  unsigned int len)
{
	switch (option[0]) {
	case 5: /* SACK */
		seg->has_sack = true;
		seg->plain = false;
		return true;
	case 8: /* timestamps */
		if (len != 10)
			return false;
		seg->tsval = ackhold_be32(option + 2);
		seg->tsecr = ackhold_be32(option + 6);
		seg->has_ts = true;
		return true;
	default:
		seg->plain = false;
		return true;
	}
}

/**
 * ackhold_parse - read a TCP header
 * @seg: result
 * @tcp: the header with its options, @len octets
 * @len: at least %ACKHOLD_TCP_MIN; the length in the header must be the same
 * @payload: octets after it
 *
 * Return: false if the header is malformed.
 */
static inline bool __must_check ackhold_parse(struct ackhold_segment *seg,
					      const u8 *tcp, unsigned int len,
					      u32 payload)
{
	unsigned int at = ACKHOLD_TCP_MIN;

	*seg = (struct ackhold_segment){
		.ack = ackhold_be32(tcp + 8),
		.payload = payload,
		.flags = (tcp[12] << 8 | tcp[13]) & ACKHOLD_FLAGS,
		.window = tcp[14] << 8 | tcp[15],
		.plain = true,
	};
	if ((tcp[12] >> 4) * 4 != len)
		return false;

	while (at < len && tcp[at] != 0) { /* 0: end of options */
		unsigned int option_len = 1;

		if (tcp[at] != 1) { /* 1: no operation */
			if (len - at < 2)
				return false;
			option_len = tcp[at + 1];
			if (option_len < 2 || option_len > len - at ||
			    !ackhold_option(seg, tcp + at, option_len))
				return false;
		}
		at += option_len;
	}

	return true;
}

/* An ACK and nothing else: no data, no other flag, no option but timestamps */
static inline bool ackhold_is_pure(const struct ackhold_segment *seg)
{
	return seg->flags == ACKHOLD_ACK && !seg->payload && seg->plain;
}

/* Is the right edge of the window left of what it was? */
static inline bool ackhold_shrinks(const struct ackhold_flow *flow,
				   const struct ackhold_segment *seg)
{
	u8 shift = flow->sk.shift;

	return ackhold_after(flow->ack + ((u32)flow->window << shift),
			     seg->ack + ((u32)seg->window << shift));
}

/* Does the segment contain all that the newest one before it said?
 *
 * - It acknowledges more. So it is no duplicate, which a sender counts, and no
 *   window update.
 * - It has no flag but ACK and PSH: ECE and CWR must arrive in order with what
 *   they mark; SYN, FIN, RST and URG are never worth a risk.
 * - It has no SACK block and no unknown option.
 * - Its window is not smaller, not zero, and not the first after zero.
 * - Its timestamps are not older.
 */
static inline bool ackhold_covers(const struct ackhold_flow *flow,
				  const struct ackhold_segment *seg)
{
	if (!flow->is_known || (seg->flags & ~ACKHOLD_PSH) != ACKHOLD_ACK ||
	    !seg->plain || !ackhold_after(seg->ack, flow->ack))
		return false;

	if (!seg->window || !flow->window || ackhold_shrinks(flow, seg))
		return false;

	if (seg->has_ts != flow->has_ts)
		return false;

	return !seg->has_ts || (!ackhold_after(flow->tsval, seg->tsval) &&
				!ackhold_after(flow->tsecr, seg->tsecr));
}

/* May the segment wait? The one that fills a hole must not: it ends recovery. */
static inline bool ackhold_may_wait(const struct ackhold_flow *flow,
				    const struct ackhold_segment *seg)
{
	return ackhold_is_pure(seg) && ackhold_covers(flow, seg) &&
	       !flow->has_hole;
}

static inline u32 ackhold_segs(const struct ackhold_flow *flow, u32 ack)
{
	return (ack - flow->sent_ack + flow->sk.mss - 1) / flow->sk.mss;
}

/* How long may the ACK, which may wait, wait from now on? */
static inline u32 ackhold_delay_us(const struct ackhold_flow *flow,
				   const struct ackhold_params *params, u32 ack,
				   u64 first_us, u64 now_us)
{
	u32 max_hold_us = READ_ONCE(params->max_hold_us);
	const struct tcp_auto *timing = &flow->timing;
	u32 bytes = ack - flow->sent_ack;

	/* TCP has already delayed an ACK for less than two full segments */
	if (!timing->interval_us || bytes <= flow->sk.mss ||
	    tcp_auto_large(timing, bytes, ackhold_segs(flow, ack)) ||
	    now_us - first_us >= max_hold_us)
		return 0;

	return min_t(u32, tcp_auto_delay_us(timing, first_us, now_us),
		     max_hold_us - (u32)(now_us - first_us));
}

/* The newest acknowledgment was sent. Rounds end with one. */
static inline void ackhold_sent(struct ackhold_flow *flow,
				const struct ackhold_params *params)
{
	struct tcp_auto *timing = &flow->timing;
	u32 burst_us;

	flow->is_held = false;
	if (!ackhold_after(flow->ack, flow->sent_ack))
		return;

	timing->received += ackhold_segs(flow, flow->ack);
	flow->sent_ack = flow->ack;
	if (flow->has_hole) {
		tcp_auto_hole(timing);
	} else if (tcp_auto_arrival(timing, flow->arrival_us, flow->ack,
				    flow->sk.rtt_us)) {
		burst_us = tcp_auto_end_round(timing, flow->arrival_us,
					      flow->ack, flow->sk.rtt_us);
		tcp_auto_decide(timing, &params->timing, burst_us, flow->sk.mss,
				flow->sk.rtt_us);
	}
}

/* The segment is the newest one */
static inline void ackhold_remember(struct ackhold_flow *flow,
				    const struct ackhold_segment *seg)
{
	if (!flow->is_known) {
		flow->sent_ack = seg->ack;
	} else if (ackhold_after(flow->ack, seg->ack)) {
		/* Overtaken on its way here: what it says is outdated */
		return;
	}

	if (seg->has_sack || (ackhold_is_pure(seg) && flow->is_known &&
			      seg->ack == flow->ack &&
			      seg->window == flow->window))
		flow->has_hole = true;
	else if (seg->ack != flow->ack)
		flow->has_hole = false;
	flow->is_known = true;
	flow->ack = seg->ack;
	flow->window = seg->window;
	flow->has_ts = seg->has_ts;
	flow->tsval = seg->tsval;
	flow->tsecr = seg->tsecr;
}

/**
 * ackhold_decide - decide about the next segment of a connection
 * @flow: state of the connection, zeroed for its first segment
 * @params: parameters
 * @seg: the segment
 * @sk: what its socket knows, NULL if there is none
 * @now_us: time
 *
 * If the verdict is to hold the segment, flow->due_us is the time to send it.
 * Then or earlier, ackhold_sent() must be called.
 */
static inline struct ackhold_verdict
ackhold_decide(struct ackhold_flow *flow, const struct ackhold_params *params,
	       const struct ackhold_segment *seg,
	       const struct ackhold_socket *sk, u64 now_us)
{
	struct ackhold_verdict verdict = {};
	u32 delay_us = 0;

	if (flow->is_held) {
		verdict.drop_held = ackhold_covers(flow, seg);
		verdict.send_held = !verdict.drop_held;
	}
	if (verdict.send_held)
		ackhold_sent(flow, params);

	/* The connection begins or, without a socket, is over */
	if (!sk || (seg->flags & ACKHOLD_SYN)) {
		*flow = (struct ackhold_flow){};
		return verdict;
	}
	if (!(seg->flags & ACKHOLD_ACK))
		return verdict;

	flow->sk = *sk;
	tcp_auto_gap(&flow->timing, now_us - flow->arrival_us);
	flow->arrival_us = now_us;
	if (!flow->is_held)
		flow->first_us = now_us;
	if (ackhold_may_wait(flow, seg))
		delay_us = ackhold_delay_us(flow, params, seg->ack,
					    flow->first_us, now_us);
	ackhold_remember(flow, seg);
	verdict.hold = delay_us;
	if (verdict.hold) {
		flow->is_held = true;
		flow->due_us = now_us + delay_us;
	} else {
		ackhold_sent(flow, params);
	}

	return verdict;
}

#endif /* _ACKHOLD_H */
