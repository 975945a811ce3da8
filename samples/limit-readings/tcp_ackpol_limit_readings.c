// SPDX-License-Identifier: GPL-2.0-only
/*
 * Further readings of dynamic ACK limiting
 *
 * Text and code of
 *   [1] A. Statkus, "Performance investigation of data packets transport
 *   control protocol in heterogeneous networks", dissertation, Vilnius
 *   Gediminas Technical University, 2017, sections 2.4 to 2.6
 * differ, and neither says how long the windows are that it compares.  Policy
 * "limit" follows the text, with windows of W segments, the size that the
 * receiver advertises when limiting begins.  The policies here are what may
 * have been measured instead.
 *
 * The text with other windows ("start_ack_lmt2" in the code):
 *
 * limit-window		of tcp_limit_window_segs segments; by default W, so that
 *			it is "limit"
 * limit-win10		of 10 segments
 * limit-win100		of 100: [1] measured with a "smaller" ack_pkt_cnt,
 *			without saying how small
 * limit-win2000	of 2000: "the packet count after which ACK message rate
 *			must be reduced by one" in section 3.2
 *
 * The code, Figures 2.12 and 2.14:
 *
 * limit-listing	with windows of tcp_limit_window_segs, by default W
 * limit-list100	with windows of 100
 * limit-no-read	as limit-listing, but reading sends no ACK, as if the
 *			reader were always late
 * limit-unset		as limit-no-read, with windows of 0: no line of the code
 *			sets start_ack_lmt2, and a new socket is zeroed
 * limit-unset-hz	as limit-unset with HZ=100
 *
 * The code differs from "limit" in that
 *
 * - the ratio starts at 0 and returns to 0 after a loss, so that every segment
 *   is acknowledged until the first window has ended;
 * - the first duration that it stores is the time since boot (of jiffies), so
 *   that the second window increases the ratio as well;
 * - a window that takes longer than the one before sets a ratio above 4 to 1
 *   and does not change a smaller one;
 * - the ratio has no maximum: the code computes it and does not use it;
 * - durations are in jiffies, so that HZ determines which of them are equal;
 * - a window is one longer than its length, because of ">";
 * - it counts arrivals: segments that GRO has merged count once;
 * - an ACK is sent only if the window could be advertised in full, as in Linux
 *   (Figure 2.6);
 * - tcp_cleanup_rbuf() is that of Linux: reading two segments sends an ACK, and
 *   so does a growing window.
 *
 * Limiting begins after tcp_limit_start_segs segments, or arrivals for the code;
 * with 0 or 1, after the number that equation 2.5 gives.  The default is that of
 * section 3.2, which the experiments set for "limit".
 *
 * The code calls the ratio tcp_ack_rate where it is used and ack_rate_val where it is
 * computed, and does not assign one to the other.  They are the same here.
 *
 * An ACK policy cannot do all that the code does:
 *
 * - A lone segment beyond a hole does not reset the algorithm, but the one that
 *   fills the hole does.
 * - An ACK is sent at once if the window is nearly exhausted, and waits for a
 *   round trip and 1 ms at most for several segments.  The code has only the
 *   delayed ACK timer.  In the laboratory ack_delay_bound=off removes the second
 *   of these rules.
 */

#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <net/tcp.h>
#include <net/tcp_ackpol.h>

#define LIMIT_RATIO_MAX		64
#define LIMIT_RATIO_KEPT	4

/* Sysctls tcp_limit_*_segs, per network namespace */
struct limit_params {
	int start;	/* arrivals or segments before limiting */
	int window;	/* length of a window; 0: the advertised one */
};

static const struct limit_params limit_params_default = {
	.start		= 2000,
	.window		= 0,
};

static const struct tcp_ackpol_param limit_param_list[] = {
	TCP_ACKPOL_PARAM("tcp_limit_start_segs", 0, INT_MAX),
	TCP_ACKPOL_PARAM("tcp_limit_window_segs", 0, INT_MAX),
};

struct limit_reading {
	struct tcp_ackpol_ops ops;
	int window;	/* length of a window; -1: tcp_limit_window_segs */
	bool hz_100;	/* time in 1/100 s, not in jiffies */
};

static struct limit_reading limit_readings[];

static const struct limit_reading *limit_reading(const struct sock *sk)
{
	return container_of_const(tcp_ackpol(sk)->ops, struct limit_reading,
				  ops);
}

/* All policies have the sysctls that the first one registers */
static const struct limit_params *limit_params(const struct sock *sk)
{
	return tcp_ackpol_params(sk, &limit_readings[0].ops);
}

static u32 limit_rwnd_segs(const struct sock *sk)
{
	return max(tcp_ackpol_window(sk) / inet_csk(sk)->icsk_ack.rcv_mss, 1);
}

/* As tcp_ack_limit_init() in Figure 2.15 */
static u32 limit_start(const struct sock *sk)
{
	int start = READ_ONCE(limit_params(sk)->start);
	u64 w = limit_rwnd_segs(sk);

	if (start > 1)
		return start;
	return min_t(u64, (w + 2) * (w + 1) / 2 - 1, S32_MAX);
}

/* The length of a window that begins now */
static u32 limit_window(const struct sock *sk)
{
	int window = limit_reading(sk)->window;

	if (window >= 0)
		return window;
	return READ_ONCE(limit_params(sk)->window) ?: limit_rwnd_segs(sk);
}

/* State of the policies that follow the text, as in "limit" */
struct limit_text {
	u64 window_start_us;
	u32 window_us;		/* duration of the last window, 0: none */
	u32 window_segs;	/* segments per window, 0: limiting is off */
	u32 count_segs;		/* before limiting, or of this window */
	u32 seen_segs;		/* counted segments not yet acknowledged */
	u32 ratio;
};

static void limit_text_reset(struct limit_text *text)
{
	text->window_us = 0;
	text->window_segs = 0;
	text->count_segs = 0;
	text->ratio = 1;
}

static void limit_text_init(struct sock *sk)
{
	limit_text_reset(tcp_ackpol_priv(sk));
}

static void limit_text_window(struct limit_text *text, u64 now_us)
{
	u32 took_us = clamp_t(u64, now_us - text->window_start_us, 1, U32_MAX);

	if (took_us <= text->window_us)
		text->ratio++;
	else if (text->ratio > 1)
		text->ratio--;
	text->window_us = took_us;
}

static void limit_text_arrival(struct sock *sk, u32 segs)
{
	struct limit_text *text = tcp_ackpol_priv(sk);
	u64 now_us = tcp_ackpol(sk)->arrival_us;

	text->count_segs += segs;
	if (text->window_segs) {
		if (text->count_segs < text->window_segs)
			return;
		limit_text_window(text, now_us);
	} else {
		if (text->count_segs < limit_start(sk))
			return;
		text->window_segs = limit_window(sk);
	}

	text->window_start_us = now_us;
	text->count_segs = 0;
	text->ratio = min(text->ratio, clamp(limit_rwnd_segs(sk) / 3, 1,
					     LIMIT_RATIO_MAX));
}

static void limit_text_data_recv(struct sock *sk)
{
	const struct tcp_ackpol *ap = tcp_ackpol(sk);
	struct limit_text *text = tcp_ackpol_priv(sk);

	if (!RB_EMPTY_ROOT(&tcp_sk(sk)->out_of_order_queue))
		limit_text_reset(text);
	else
		limit_text_arrival(sk, ap->segs - text->seen_segs);
	text->seen_segs = ap->segs;
}

static void limit_text_ack_sent(struct sock *sk)
{
	struct limit_text *text = tcp_ackpol_priv(sk);

	text->seen_segs = 0;
}

static u32 limit_text_ack_delay_us(struct sock *sk)
{
	const struct limit_text *text = tcp_ackpol_priv(sk);

	return tcp_ackpol_exceeds(sk, text->ratio) ? 0 : TCP_ACKPOL_DELACK;
}

/* State of the policies that follow the code, with its names in brackets */
struct limit_listing {
	unsigned long end;	/* of the last window, 0: none [ack_time_t1] */
	unsigned long took;	/* [ack_time_delta] */
	u32 start_count;	/* arrivals before limiting [init_pkt_cnt] */
	u32 window;		/* length of all windows [start_ack_lmt2] */
	u32 count;		/* arrivals of this window [ack_pkt_cnt] */
	u32 ratio;		/* [ack_rate_val, tcp_ack_rate] */
};

static void limit_listing_window(struct sock *sk)
{
	struct limit_listing *listing = tcp_ackpol_priv(sk);
	unsigned long now = jiffies;
	unsigned long took;

	if (limit_reading(sk)->hz_100)
		now = jiffies_to_clock_t(now);
	took = now - listing->end;

	if (took <= listing->took || !listing->end)
		listing->ratio++;
	else if (listing->ratio > LIMIT_RATIO_KEPT)
		listing->ratio = 1;
	listing->took = took;
	listing->end = now;
}

static void limit_listing_data_recv(struct sock *sk)
{
	struct limit_listing *listing = tcp_ackpol_priv(sk);

	if (!RB_EMPTY_ROOT(&tcp_sk(sk)->out_of_order_queue))
		memset(listing, 0, sizeof(*listing));

	if (listing->start_count < limit_start(sk)) {
		listing->start_count++;
		listing->window = limit_window(sk);
		return;
	}

	if (listing->count > listing->window) {
		listing->count = 0;
		limit_listing_window(sk);
	}
	listing->count++;
}

/* Can the window be advertised in full? As in __tcp_ack_snd_check() */
static bool limit_listing_may_ack(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tp->rcv_nxt - tp->copied_seq < sk->sk_rcvlowat ||
	       __tcp_select_window(sk) >= tp->rcv_wnd;
}

static u32 limit_listing_ack_delay_us(struct sock *sk)
{
	const struct limit_listing *listing = tcp_ackpol_priv(sk);

	if (tcp_ackpol_exceeds(sk, listing->ratio) && limit_listing_may_ack(sk))
		return 0;
	return TCP_ACKPOL_DELACK;
}

#define LIMIT_TEXT(_name)					\
	.ops = {						\
		.ack_delay_us	= limit_text_ack_delay_us,	\
		.data_recv	= limit_text_data_recv,		\
		.ack_sent	= limit_text_ack_sent,		\
		.init		= limit_text_init,		\
		.name		= _name,			\
		.owner		= THIS_MODULE,			\
	}

#define LIMIT_LISTING(_name, _flags)				\
	.ops = {						\
		.ack_delay_us	= limit_listing_ack_delay_us,	\
		.data_recv	= limit_listing_data_recv,	\
		.flags		= _flags,			\
		.name		= _name,			\
		.owner		= THIS_MODULE,			\
	}

static struct limit_reading limit_readings[] __read_mostly = {
	{ LIMIT_TEXT("limit-window"), .window = -1, },
	{ LIMIT_TEXT("limit-win10"), .window = 10, },
	{ LIMIT_TEXT("limit-win100"), .window = 100, },
	{ LIMIT_TEXT("limit-win2000"), .window = 2000, },
	{ LIMIT_LISTING("limit-listing", TCP_ACKPOL_F_KEEP_RULES),
	  .window = -1, },
	{ LIMIT_LISTING("limit-list100", TCP_ACKPOL_F_KEEP_RULES),
	  .window = 100, },
	{ LIMIT_LISTING("limit-no-read", 0), .window = -1, },
	{ LIMIT_LISTING("limit-unset", 0), .window = 0, },
	{ LIMIT_LISTING("limit-unset-hz", 0), .window = 0, .hz_100 = true, },
};

static int __init limit_readings_register(void)
{
	int i, ret;

	TCP_ACKPOL_CHECK_PRIV(struct limit_text);
	TCP_ACKPOL_CHECK_PRIV(struct limit_listing);
	TCP_ACKPOL_CHECK_PARAMS(limit_param_list, limit_params_default);

	limit_readings[0].ops.params = limit_param_list;
	limit_readings[0].ops.defaults = (const int *)&limit_params_default;
	limit_readings[0].ops.nr_params = ARRAY_SIZE(limit_param_list);

	for (i = 0; i < ARRAY_SIZE(limit_readings); i++) {
		ret = tcp_register_ackpol(&limit_readings[i].ops);
		if (ret)
			goto unregister;
	}
	return 0;

unregister:
	while (i--)
		tcp_unregister_ackpol(&limit_readings[i].ops);
	return ret;
}

static void __exit limit_readings_unregister(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(limit_readings); i++)
		tcp_unregister_ackpol(&limit_readings[i].ops);
}

module_init(limit_readings_register);
module_exit(limit_readings_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Readings of TCP dynamic ACK limiting");
MODULE_ALIAS_TCP_ACKPOL("limit-window");
MODULE_ALIAS_TCP_ACKPOL("limit-win10");
MODULE_ALIAS_TCP_ACKPOL("limit-win100");
MODULE_ALIAS_TCP_ACKPOL("limit-win2000");
MODULE_ALIAS_TCP_ACKPOL("limit-listing");
MODULE_ALIAS_TCP_ACKPOL("limit-list100");
MODULE_ALIAS_TCP_ACKPOL("limit-no-read");
MODULE_ALIAS_TCP_ACKPOL("limit-unset");
MODULE_ALIAS_TCP_ACKPOL("limit-unset-hz");
