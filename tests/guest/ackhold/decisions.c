// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of dkms/ackhold/ackhold.h in user space
 *
 * Prints "ok NAME" or "not ok NAME: LINE" for each test; fails if one fails.
 */

#include <stdio.h>
#include <string.h>

#include "ackhold.h"

#define MSS		1448
#define RTT_US		40000
#define MIN_RTT_US	20000
/* A quarter of the time in queues */
#define INTERVAL_US	5000
#define STEP		(4 * MSS)
#define STEP_US		300

static int failed_line;

#define CHECK(condition)					\
	do {							\
		if (!(condition) && !failed_line)		\
			failed_line = __LINE__;			\
	} while (0)

static const struct ackhold_params params = ACKHOLD_PARAMS_DEFAULT;

/* A connection in the middle of a long transfer, and its clock */
struct stream {
	struct ackhold_flow flow;
	struct ackhold_socket sk;
	struct ackhold_segment seg;
	struct ackhold_verdict verdict;
	u64 now_us;
};

static struct ackhold_segment pure_ack(u32 ack)
{
	return (struct ackhold_segment){
		.ack = ack, .flags = ACKHOLD_ACK, .window = 1000,
		.has_ts = true, .tsval = 50, .tsecr = 60, .plain = true,
	};
}

static void decide(struct stream *s)
{
	s->verdict = ackhold_decide(&s->flow, &params, &s->seg, &s->sk,
				    s->now_us);
}

/* The next ACK of the transfer, STEP octets later */
static void next(struct stream *s)
{
	s->seg = pure_ack(s->flow.ack + STEP);
	s->now_us += STEP_US;
}

/* Timing that holds ACKs for INTERVAL_US, and one ACK that was sent */
static void begin(struct stream *s, u32 ack)
{
	*s = (struct stream){
		.sk = { .rtt_us = RTT_US, .mss = MSS, .shift = 7 },
		.now_us = 1000000,
	};
	s->seg = pure_ack(ack);
	decide(s);
	CHECK(!s->verdict.hold);
	s->flow.timing = (struct tcp_auto){
		.round_us = s->now_us, .round_seq = ack,
		.round_bytes = 2000 * MSS, .received = 100000,
		.flat_rounds = TCP_AUTO_FLAT_ROUNDS, .min_rtt_us = MIN_RTT_US,
	};
	tcp_auto_decide(&s->flow.timing, &params.timing, 0, MSS, RTT_US);
	CHECK(s->flow.timing.interval_us == INTERVAL_US);
}

/* The same with one ACK that is held */
static void hold_one(struct stream *s)
{
	begin(s, 1000000);
	next(s);
	decide(s);
	CHECK(s->verdict.hold && s->flow.is_held);
	next(s);
}

static bool is_held(const struct stream *s)
{
	return s->verdict.hold && s->verdict.drop_held && !s->verdict.send_held;
}

/* The held ACK is sent, and the segment after it */
static bool passes_after_held(const struct stream *s)
{
	return !s->verdict.hold && !s->verdict.drop_held &&
	       s->verdict.send_held && !s->flow.is_held;
}

/* The segment is sent, and the held ACK was not needed any more */
static bool replaces_and_passes(const struct stream *s)
{
	return !s->verdict.hold && s->verdict.drop_held &&
	       !s->verdict.send_held && !s->flow.is_held;
}

static void newer_ack_replaces_held(void)
{
	struct stream s;

	hold_one(&s);
	decide(&s);
	CHECK(is_held(&s));
}

static void ack_numbers_wrap(void)
{
	struct stream s;

	begin(&s, -STEP - 1);
	next(&s);
	decide(&s);
	CHECK(s.verdict.hold);
	next(&s);
	decide(&s);
	CHECK(is_held(&s));
}

static void duplicate_passes(void)
{
	struct stream s;

	hold_one(&s);
	s.seg.ack = s.flow.ack;
	decide(&s);
	CHECK(passes_after_held(&s));
	/* And the third one */
	decide(&s);
	CHECK(!s.verdict.hold && !s.verdict.drop_held);
}

static void duplicate_of_sent_passes(void)
{
	struct stream s;

	begin(&s, 1000000);
	s.seg.ack = s.flow.ack;
	decide(&s);
	CHECK(!s.verdict.hold);
}

static void ack_that_fills_a_hole_passes(void)
{
	struct stream s;

	hold_one(&s);
	s.seg.ack = s.flow.ack;
	decide(&s);
	next(&s);
	decide(&s);
	CHECK(!s.verdict.hold);
	/* Recovery is over */
	next(&s);
	decide(&s);
	CHECK(s.verdict.hold);
}

static void ack_after_sack_passes(void)
{
	struct stream s;

	hold_one(&s);
	s.seg.has_sack = true;
	s.seg.plain = false;
	decide(&s);
	next(&s);
	decide(&s);
	CHECK(!s.verdict.hold);
}

static void window_update_passes(void)
{
	struct stream s;

	hold_one(&s);
	s.seg.ack = s.flow.ack;
	s.seg.window++;
	decide(&s);
	CHECK(passes_after_held(&s));
	/* It is no sign of a hole */
	next(&s);
	s.seg.window++;
	decide(&s);
	CHECK(s.verdict.hold);
}

static void overtaken_ack_passes(void)
{
	struct stream s;
	u32 ack;

	hold_one(&s);
	ack = s.flow.ack;
	s.seg.ack = ack - MSS;
	decide(&s);
	CHECK(passes_after_held(&s));
	CHECK(s.flow.ack == ack);
}

static void sack_passes(void)
{
	struct stream s;

	hold_one(&s);
	s.seg.has_sack = true;
	s.seg.plain = false;
	decide(&s);
	CHECK(passes_after_held(&s));
}

static void unknown_option_passes(void)
{
	struct stream s;

	hold_one(&s);
	s.seg.plain = false;
	decide(&s);
	CHECK(passes_after_held(&s));
}

static void every_other_flag_passes(void)
{
	struct stream s;
	unsigned int bit;

	for (bit = 0; bit < 12; bit++) {
		u16 flag = 1 << bit;

		if (flag == ACKHOLD_ACK || flag == ACKHOLD_PSH)
			continue;
		hold_one(&s);
		s.seg.flags |= flag;
		decide(&s);
		CHECK(passes_after_held(&s));
		begin(&s, 1000000);
		next(&s);
		s.seg.flags |= flag;
		decide(&s);
		CHECK(!s.verdict.hold);
	}
}

static void without_ack_passes(void)
{
	struct stream s;

	hold_one(&s);
	s.seg.flags = ACKHOLD_RST;
	s.seg.ack = 0;
	decide(&s);
	CHECK(passes_after_held(&s));
}

static void psh_passes(void)
{
	struct stream s;

	hold_one(&s);
	s.seg.flags |= ACKHOLD_PSH;
	decide(&s);
	CHECK(replaces_and_passes(&s));
}

static void data_passes_and_replaces(void)
{
	struct stream s;

	hold_one(&s);
	s.seg.payload = 100;
	s.seg.flags |= ACKHOLD_PSH;
	decide(&s);
	CHECK(replaces_and_passes(&s));
}

static void data_with_the_same_ack_follows_held(void)
{
	struct stream s;

	hold_one(&s);
	s.seg.payload = 100;
	s.seg.ack = s.flow.ack;
	decide(&s);
	CHECK(passes_after_held(&s));
	/* It is no duplicate ACK */
	next(&s);
	decide(&s);
	CHECK(s.verdict.hold);
}

static void zero_window_passes(void)
{
	struct stream s;

	hold_one(&s);
	s.seg.window = 0;
	decide(&s);
	CHECK(passes_after_held(&s));
}

static void window_that_goes_to_zero_with_a_moving_edge_passes(void)
{
	struct stream s;

	begin(&s, 1000000);
	s.flow.window = STEP >> 7;
	next(&s);
	s.seg.window = 0;
	s.seg.ack += 1 << 7;
	decide(&s);
	CHECK(!s.verdict.hold);
}

static void first_window_after_zero_passes(void)
{
	struct stream s;

	hold_one(&s);
	s.seg.window = 0;
	decide(&s);
	next(&s);
	decide(&s);
	CHECK(!s.verdict.hold);
	next(&s);
	decide(&s);
	CHECK(s.verdict.hold);
}

static void smaller_window_with_moving_edge_is_held(void)
{
	struct stream s;

	hold_one(&s);
	s.seg.window -= STEP >> 7;
	decide(&s);
	CHECK(is_held(&s));
}

static void edge_that_moves_back_passes(void)
{
	struct stream s;

	hold_one(&s);
	s.seg.window -= (STEP >> 7) + 1;
	decide(&s);
	CHECK(passes_after_held(&s));
}

static void older_timestamps_pass(void)
{
	struct stream s;

	hold_one(&s);
	s.seg.tsval--;
	decide(&s);
	CHECK(passes_after_held(&s));
	hold_one(&s);
	s.seg.tsecr--;
	decide(&s);
	CHECK(passes_after_held(&s));
	hold_one(&s);
	s.seg.has_ts = false;
	decide(&s);
	CHECK(passes_after_held(&s));
}

static void first_ack_passes(void)
{
	struct stream s;

	begin(&s, 1000000);
	s.flow.is_known = false;
	next(&s);
	decide(&s);
	CHECK(!s.verdict.hold);
}

static void one_segment_passes(void)
{
	struct stream s;

	begin(&s, 1000000);
	next(&s);
	s.seg.ack = s.flow.ack + MSS;
	decide(&s);
	CHECK(!s.verdict.hold);
}

static void unknown_rtt_passes(void)
{
	struct stream s;
	int i;

	begin(&s, 1000000);
	s.sk.rtt_us = 0;
	tcp_auto_start(&s.flow.timing);
	for (i = 0; i < 1000; i++) {
		next(&s);
		decide(&s);
		CHECK(!s.verdict.hold);
	}
}

static void arrival_after_interval_passes(void)
{
	struct stream s;
	u64 first_us;

	hold_one(&s);
	first_us = s.flow.first_us;
	while (s.now_us - first_us < INTERVAL_US) {
		decide(&s);
		CHECK(is_held(&s));
		next(&s);
	}
	decide(&s);
	CHECK(replaces_and_passes(&s));
}

static void quarter_of_the_window_passes(void)
{
	struct stream s;

	hold_one(&s);
	s.seg.ack = s.flow.sent_ack + 500 * MSS;
	decide(&s);
	CHECK(replaces_and_passes(&s));
}

static void silence_ends_the_wait(void)
{
	struct stream s;

	begin(&s, 1000000);
	next(&s);
	decide(&s);
	CHECK(s.flow.due_us == s.now_us + 2000);
	/* Queues more than double the RTT: half of it */
	begin(&s, 1000000);
	s.flow.timing.min_rtt_us = 5000;
	tcp_auto_decide(&s.flow.timing, &params.timing, 0, MSS, 30000);
	next(&s);
	decide(&s);
	CHECK(s.flow.due_us == s.flow.first_us + 15000);
	/* But not beyond the bound */
	tcp_auto_decide(&s.flow.timing, &params.timing, 0, MSS, 50000);
	next(&s);
	decide(&s);
	CHECK(is_held(&s));
	CHECK(s.flow.due_us == s.flow.first_us + params.max_hold_us);
}

static void no_wait_exceeds_the_bound(void)
{
	static const u32 rtts_us[] = { 3000, 40000, 300000, 2000000, ~0U >> 3 };
	u32 random = 1, held = 0, i;
	struct stream s;

	for (i = 0; i < 200000; i++) {
		if (i % 1000 == 0) {
			begin(&s, i);
			s.sk.rtt_us = rtts_us[i / 1000 % 5];
			s.flow.timing.min_rtt_us = s.sk.rtt_us / 8;
			tcp_auto_decide(&s.flow.timing, &params.timing, 0, MSS,
					s.sk.rtt_us);
		}
		random = random * 1664525 + 1013904223;
		next(&s);
		s.now_us += (random >> 16) % 3000;
		/* The timer */
		if (s.flow.is_held && s.flow.due_us <= s.now_us)
			ackhold_sent(&s.flow, &params);
		decide(&s);
		if (!s.verdict.hold)
			continue;
		held++;
		CHECK(s.flow.due_us > s.now_us);
		CHECK(s.flow.due_us <= s.flow.first_us + params.max_hold_us);
	}
	CHECK(held > 10000);
}

static void idle_sender_starts_again(void)
{
	struct stream s;

	begin(&s, 1000000);
	s.now_us += TCP_AUTO_IDLE_US;
	next(&s);
	decide(&s);
	CHECK(!s.verdict.hold);
	CHECK(tcp_auto_may_grow(&s.flow.timing));
}

static void begin_transfer(struct stream *s)
{
	*s = (struct stream){
		.sk = { .rtt_us = 20000, .mss = MSS, .shift = 7 },
		.now_us = 1000000,
		.seg = pure_ack(1),
	};
}

/* A transfer at a constant rate without any preset state: slow start ends after
 * three rounds, then ACKs are held, and each sent one is the newest.
 */
static void transfer_is_thinned(void)
{
	unsigned int sent = 0, held = 0, i;
	struct stream s;

	begin_transfer(&s);
	for (i = 0; i < 10000; i++) {
		if (i == 5000) {
			/* Queues are empty until now */
			CHECK(!held);
			s.sk.rtt_us = 40000;
		}
		decide(&s);
		held += s.verdict.hold;
		if (i > 6000)
			sent += !s.verdict.hold;
		next(&s);
	}
	CHECK(held > 4000);
	/* 4,000 ACKs in 1.2 s, one of which each 5 ms is sent */
	CHECK(sent > 200 && sent < 260);
}

/* As above, but the ACKs arrive in bursts of 50; the number of those that are held */
static unsigned int held_of_bursts(u32 burst_us)
{
	unsigned int held = 0, i;
	struct stream s;

	begin_transfer(&s);
	for (i = 0; i < 10000; i++) {
		if (i == 5000)
			s.sk.rtt_us = 40000;
		decide(&s);
		if (i > 6000)
			held += s.verdict.hold;
		next(&s);
		s.now_us -= STEP_US;
		if (i % 50 == 0)
			s.now_us += burst_us;
	}
	CHECK(s.flow.timing.is_bursty);
	return held;
}

/* One and a half bursts in 7/8 of 40 ms */
static void two_bursts_share_an_ack(void)
{
	CHECK(held_of_bursts(10000) > 3800);
	CHECK(!held_of_bursts(24000));
}

/* As that of a socket in TIME_WAIT, which repeats the last ACK */
static void without_socket_passes(void)
{
	struct stream s;

	hold_one(&s);
	s.seg.ack = s.flow.ack;
	s.verdict = ackhold_decide(&s.flow, &params, &s.seg, NULL, s.now_us);
	CHECK(passes_after_held(&s));
	CHECK(!s.flow.is_known && !s.flow.timing.interval_us);
}

static void syn_forgets_the_connection_before(void)
{
	struct stream s;

	hold_one(&s);
	s.seg.flags = ACKHOLD_SYN;
	decide(&s);
	CHECK(passes_after_held(&s));
	CHECK(!s.flow.is_known && !s.flow.timing.interval_us);
}

/* A header with these options, the rest of which are no operation */
static bool parse(struct ackhold_segment *seg, const char *options,
		  unsigned int len)
{
	u8 header[ACKHOLD_TCP_MAX] = {
		[8] = 1, [9] = 2, [10] = 3, [11] = 4,
		[12] = (len / 4) << 4, [13] = 0x10, [14] = 0xab, [15] = 0xcd,
	};

	memcpy(header + ACKHOLD_TCP_MIN, options, len - ACKHOLD_TCP_MIN);
	return ackhold_parse(seg, header, len, 7);
}

static void headers_are_read(void)
{
	struct ackhold_segment seg;

	CHECK(parse(&seg, "", 20));
	CHECK(seg.ack == 0x01020304 && seg.window == 0xabcd);
	CHECK(seg.flags == ACKHOLD_ACK && seg.payload == 7);
	CHECK(seg.plain && !seg.has_ts && !seg.has_sack);

	CHECK(parse(&seg, "\1\1\10\12\0\0\0\5\0\0\0\6", 32));
	CHECK(seg.plain && seg.has_ts && seg.tsval == 5 && seg.tsecr == 6);

	CHECK(parse(&seg, "\1\1\5\12\0\0\0\5\0\0\0\6", 32));
	CHECK(!seg.plain && seg.has_sack);

	/* MPTCP, after the end of options */
	CHECK(parse(&seg, "\36\4\0\0", 24));
	CHECK(!seg.plain);
	CHECK(parse(&seg, "\0\5\5\5", 24));
	CHECK(seg.plain);
}

static void malformed_headers_are_refused(void)
{
	struct ackhold_segment seg;
	u8 header[24] = { [12] = 0x60 };

	CHECK(!parse(&seg, "\1\1\1\10", 24));
	CHECK(!parse(&seg, "\10\0\1\1", 24));
	CHECK(!parse(&seg, "\10\5\1\1", 24));
	CHECK(!parse(&seg, "\10\4\1\1", 24));
	CHECK(!ackhold_parse(&seg, header, 20, 0));
}

#define TEST(name)	{ #name, name }

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	TEST(newer_ack_replaces_held),
	TEST(ack_numbers_wrap),
	TEST(duplicate_passes),
	TEST(duplicate_of_sent_passes),
	TEST(ack_that_fills_a_hole_passes),
	TEST(ack_after_sack_passes),
	TEST(window_update_passes),
	TEST(overtaken_ack_passes),
	TEST(sack_passes),
	TEST(unknown_option_passes),
	TEST(every_other_flag_passes),
	TEST(without_ack_passes),
	TEST(psh_passes),
	TEST(data_passes_and_replaces),
	TEST(data_with_the_same_ack_follows_held),
	TEST(zero_window_passes),
	TEST(window_that_goes_to_zero_with_a_moving_edge_passes),
	TEST(first_window_after_zero_passes),
	TEST(smaller_window_with_moving_edge_is_held),
	TEST(edge_that_moves_back_passes),
	TEST(older_timestamps_pass),
	TEST(first_ack_passes),
	TEST(one_segment_passes),
	TEST(unknown_rtt_passes),
	TEST(arrival_after_interval_passes),
	TEST(quarter_of_the_window_passes),
	TEST(silence_ends_the_wait),
	TEST(no_wait_exceeds_the_bound),
	TEST(idle_sender_starts_again),
	TEST(transfer_is_thinned),
	TEST(two_bursts_share_an_ack),
	TEST(without_socket_passes),
	TEST(syn_forgets_the_connection_before),
	TEST(headers_are_read),
	TEST(malformed_headers_are_refused),
};

int main(void)
{
	unsigned int i;
	int status = 0;

	for (i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		failed_line = 0;
		tests[i].run();
		if (failed_line) {
			printf("not ok %s: %d\n", tests[i].name, failed_line);
			status = 1;
		} else {
			printf("ok %s\n", tests[i].name);
		}
	}

	return status;
}
