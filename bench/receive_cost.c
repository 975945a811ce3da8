// SPDX-License-Identifier: GPL-2.0-only
/*
 * receive_cost BURSTS BURST PERIOD_US RTT_US QUEUE_US: measure the cost of a received segment.
 *
 * For a machine whose time stamp counter counts instructions (QEMU with -icount shift=0), one per
 * nanosecond.  A peer behind a TUN device sends a burst of full segments per period; the
 * application reads after each burst.  RTT_US is the round trip time of the handshake and of the
 * timestamps that segments echo; from the second quarter of the bursts on, QUEUE_US is added, as by
 * a queue.  The rest of a period is spent in a loop, so that timers fire in it.  The instructions of
 * the loop are subtracted.  Prints the segments and ACKs of all bursts, the median of the
 * instructions of a burst without that loop, and the instructions of each twenty periods.  Most
 * bursts have no tick and no other interrupt, so the median shows differences of a few
 * instructions, but not what timers cost.
 */
#define _GNU_SOURCE
#include <x86intrin.h>

#include "tunpeer.h"

/* These have a whole number of ticks with an HZ of 250. */
#define PERIODS 20

/* Whether the counter counts instructions: the minimum, because interrupts only add to it. */
static bool counts_instructions(void)
{
	const uint64_t iterations = 50000;
	uint64_t minimum = UINT64_MAX;
	int i;

	for (i = 0; i < 100; i++) {
		uint64_t left = iterations, start = __rdtsc(), spent;

		/* Two instructions per iteration */
		__asm__ volatile("1: dec %0; jnz 1b" : "+r" (left));
		spent = __rdtsc() - start;
		if (spent < minimum)
			minimum = spent;
	}
	return minimum >= 2 * iterations && minimum < 2 * iterations + 50;
}

/* Loop until the counter reaches a value; returns the number of iterations. */
static __attribute__((noinline)) uint64_t spin(uint64_t until)
{
	uint64_t iterations = 0;

	while (__rdtsc() < until)
		iterations++;
	return iterations;
}

/* Instructions per iteration: the minimum, because interrupts only add to it. */
static uint64_t iteration_cost(void)
{
	double minimum = 1e9;
	int i;

	for (i = 0; i < 200; i++) {
		uint64_t start = __rdtsc(), iterations = spin(start + 100000);
		double cost = (double)(__rdtsc() - start) / iterations;

		if (cost < minimum)
			minimum = cost;
	}
	return minimum + 0.5;
}

/* Replace 32 bits of a segment that was built, and update its checksum (RFC 1624, equation 3). */
static void replace(struct segment *segment, void *field, uint32_t value)
{
	uint32_t sum = (uint16_t)~ntohs(segment->tcp.check), old;

	memcpy(&old, field, sizeof(old));
	old = ~ntohl(old);
	sum += (old >> 16) + (old & 0xffff) + (value >> 16) + (value & 0xffff);
	segment->tcp.check = peer_fold(sum);
	value = htonl(value);
	memcpy(field, &value, sizeof(value));
}

static int compare(const void *first, const void *second)
{
	const uint64_t a = *(const uint64_t *)first, b = *(const uint64_t *)second;

	return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
	uint8_t stamp[] = { 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0 };
	static char buffer[1 << 20];
	static struct segment *segments;
	uint64_t start = 0, next = 0, iterations = 0;
	long bursts, burst, i, j, *chunks;
	size_t octets = 0;
	uint64_t period, cost, connected, *spent;
	long replies = 0, queue_us, rtt_us;

	if (argc != 6)
		errx(2, "usage: receive_cost BURSTS BURST PERIOD_US RTT_US QUEUE_US");
	bursts = atol(argv[1]);
	burst = atol(argv[2]);
	period = atol(argv[3]) * 1000;
	queue_us = atol(argv[5]);
	segments = calloc(burst, sizeof(*segments));
	spent = calloc(bursts, sizeof(*spent));
	chunks = calloc(bursts / PERIODS, sizeof(*chunks));
	if (!segments || !spent || !chunks)
		err(1, "calloc");
	if (bursts % PERIODS)
		errx(2, "BURSTS is %ld, not a multiple of %d", bursts, PERIODS);
	if (!counts_instructions())
		errx(1, "the time stamp counter does not count instructions");
	cost = iteration_cost();
	peer.rtt_us = atol(argv[4]);
	peer_open();
	connected = __rdtsc();
	if (!peer_connect(5001, 1, true))
		errx(1, "cannot connect");
	for (j = 0; j < burst; j++)
		octets = peer_build(&segments[j], (struct sent){
			.seq = peer.next, .ack = peer.sent, .flags = ".", .window = 60000,
			.options = stamp, .options_size = sizeof(stamp), .length = MSS });

	/* The first half is warm-up: slow start, quick ACKs, a growing window. */
	for (i = -bursts; i < bursts; i++) {
		uint32_t echo;

		rtt_us = peer.rtt_us + (i < -bursts / 2 ? 0 : queue_us);
		echo = peer.stamp + (__rdtsc() - connected) / 1000000 - rtt_us / 1000;
		for (j = 0; j < burst; j++) {
			replace(&segments[j], &segments[j].tcp.seq, peer.next);
			replace(&segments[j], segments[j].rest + 8, echo);
			peer.next += MSS;
		}
		if (i <= 0) {
			iterations = 0;
			replies = peer.replies;
			start = __rdtsc();
			next = start;
		} else {
			/* Do not count changing segments: a receiver does not do that. */
			start += __rdtsc() - next;
			next = __rdtsc();
		}
		for (j = 0; j < burst; j++)
			peer_write(&segments[j], octets);
		while (recv(peer.sock, buffer, sizeof(buffer), 0) > 0)
			;
		peer_drain();
		/* The page of the array is present after the first half. */
		spent[(i + bursts) % bursts] = __rdtsc() - next;
		next += period;
		iterations += spin(next);
		if (__rdtsc() > next + period)
			errx(1, "a burst of %ld takes longer than %s us", burst, argv[3]);
		if (i >= 0 && i % PERIODS == PERIODS - 1) {
			chunks[i / PERIODS] = __rdtsc() - start - iterations * cost;
			iterations = 0;
			start = __rdtsc();
		}
	}
	qsort(spent, bursts, sizeof(*spent), compare);
	printf("%ld %ld %lu", bursts * burst, peer.replies - replies, spent[bursts / 2]);
	for (i = 0; i < bursts / PERIODS; i++)
		printf(" %ld", chunks[i]);
	printf("\n");
	return 0;
}
