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

static struct kunit_case tcp_small_queue_cases[] = {
	KUNIT_CASE(choice_keeps_unit_and_limit),
	KUNIT_CASE(time_is_bytes_at_the_rate),
	KUNIT_CASE(no_rate_is_much_in_any_time),
	KUNIT_CASE(packets_are_those_of_the_skb),
	{}
};

static struct kunit_suite tcp_small_queue_suite = {
	.name = "tcp_small_queue",
	.test_cases = tcp_small_queue_cases,
};

kunit_test_suite(tcp_small_queue_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of the limit of TCP small queues");
