// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the limit of TCP small queues: units, and rates near the
 * limits of their range.
 */

#include <kunit/test.h>
#include <net/tcp_small_queue.h>

static void choice_keeps_unit_and_limit(struct kunit *test)
{
	static const struct {
		u32 unit, limit;
	} cases[] = {
		{ TCP_SMALL_QUEUE_DRIVER, 0 },
		{ TCP_SMALL_QUEUE_OFF, 0 },
		{ TCP_SMALL_QUEUE_US, USEC_PER_SEC },
		{ TCP_SMALL_QUEUE_BYTES, 1 << 28 },
		{ TCP_SMALL_QUEUE_PACKETS, U16_MAX },
		{ TCP_SMALL_QUEUE_PACED, U16_MAX },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		u32 choice = tcp_small_queue_choice(cases[i].unit,
						    cases[i].limit);

		KUNIT_EXPECT_NE(test, choice, 0);
		KUNIT_EXPECT_EQ(test, tcp_small_queue_unit(choice),
				cases[i].unit);
		KUNIT_EXPECT_EQ(test, tcp_small_queue_limit(choice),
				cases[i].limit);
	}
}

static void time_is_bytes_at_the_rate(struct kunit *test)
{
	/* 1 Gbit/s */
	KUNIT_EXPECT_EQ(test, tcp_small_queue_time_bytes(125000000, 1), 125);
	KUNIT_EXPECT_EQ(test, tcp_small_queue_time_bytes(125000000, 1000),
			125000);
	KUNIT_EXPECT_EQ(test, tcp_small_queue_time_bytes(125000000,
							 USEC_PER_SEC),
			125000000);
	/* Less than a byte */
	KUNIT_EXPECT_EQ(test, tcp_small_queue_time_bytes(999, 1000), 0);
	KUNIT_EXPECT_EQ(test, tcp_small_queue_time_bytes(0, USEC_PER_SEC), 0);
}

static void no_rate_is_much_in_any_time(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, tcp_small_queue_time_bytes(U64_MAX, USEC_PER_SEC),
			BIT_ULL(43));
	KUNIT_EXPECT_EQ(test, tcp_small_queue_time_bytes(U64_MAX, 1), 8796093);
	KUNIT_EXPECT_EQ(test, tcp_small_queue_time_bytes(U32_MAX, 1), 4294);
}

static void packets_are_those_of_the_skb(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, tcp_small_queue_packets_bytes(1, 2304, 1), 2304);
	KUNIT_EXPECT_EQ(test, tcp_small_queue_packets_bytes(40, 2304, 1),
			92160);
	/* skb with 10 segments */
	KUNIT_EXPECT_EQ(test, tcp_small_queue_packets_bytes(40, 16640, 10),
			66560);
	/* Number of segments not yet known */
	KUNIT_EXPECT_EQ(test, tcp_small_queue_packets_bytes(2, 2304, 0), 4608);
	KUNIT_EXPECT_EQ(test, tcp_small_queue_packets_bytes(U16_MAX, 1 << 20,
							    1),
			(unsigned long)min_t(u64, ULONG_MAX,
					     (u64)U16_MAX << 20));
}

static void paced_packets_are_scaled(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, tcp_small_queue_scaled(40, 120), 48);
	KUNIT_EXPECT_EQ(test, tcp_small_queue_scaled(40, 200), 80);
	/* Rounded down, but never to none */
	KUNIT_EXPECT_EQ(test, tcp_small_queue_scaled(12, 120), 14);
	KUNIT_EXPECT_EQ(test, tcp_small_queue_scaled(1, 60), 1);
	KUNIT_EXPECT_EQ(test, tcp_small_queue_scaled(40, 0), 1);
	KUNIT_EXPECT_EQ(test, tcp_small_queue_scaled(U16_MAX, 1000), 655350);
}

/* A socket without a limit of its own, whose rate is 1 Gbit/s */
static void burst_has_its_own_time(struct kunit *test)
{
	struct tcp_sock *tp = kunit_kzalloc(test, sizeof(*tp), GFP_KERNEL);
	struct net *net = kunit_kzalloc(test, sizeof(*net), GFP_KERNEL);
	struct sock *sk = (struct sock *)tp;

	KUNIT_ASSERT_NOT_NULL(test, tp);
	KUNIT_ASSERT_NOT_NULL(test, net);
	write_pnet(&sk->sk_net, net);
	sk->sk_pacing_rate = 125000000;
	sk->sk_pacing_shift = 7;

	/* The driver's 1/128 s */
	KUNIT_EXPECT_EQ(test, tcp_small_queue_credit(sk), 976562);
	KUNIT_EXPECT_EQ(test, tcp_small_queue_burst(sk), 976562);

	/* Same time for both */
	tp->small_queue = tcp_small_queue_choice(TCP_SMALL_QUEUE_US, 16000);
	KUNIT_EXPECT_EQ(test, tcp_small_queue_credit(sk), 2000000);
	KUNIT_EXPECT_EQ(test, tcp_small_queue_burst(sk), 2000000);

	/* A time for bursts alone, whatever the limit is */
	net->ipv4.sysctl_tcp_small_queue_burst_us = 1000;
	KUNIT_EXPECT_EQ(test, tcp_small_queue_credit(sk), 2000000);
	KUNIT_EXPECT_EQ(test, tcp_small_queue_burst(sk), 125000);
	tp->small_queue = tcp_small_queue_choice(TCP_SMALL_QUEUE_OFF, 0);
	KUNIT_EXPECT_EQ(test, tcp_small_queue_burst(sk), 125000);
}

static struct kunit_case tcp_small_queue_cases[] = {
	KUNIT_CASE(choice_keeps_unit_and_limit),
	KUNIT_CASE(time_is_bytes_at_the_rate),
	KUNIT_CASE(no_rate_is_much_in_any_time),
	KUNIT_CASE(packets_are_those_of_the_skb),
	KUNIT_CASE(paced_packets_are_scaled),
	KUNIT_CASE(burst_has_its_own_time),
	{}
};

static struct kunit_suite tcp_small_queue_suite = {
	.name = "tcp_small_queue",
	.test_cases = tcp_small_queue_cases,
};

kunit_test_suite(tcp_small_queue_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of the limit of TCP small queues");
