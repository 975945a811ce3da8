// SPDX-License-Identifier: GPL-2.0-only
/*
 * receive_cost BURSTS BURST PERIOD_US: what a received segment costs.
 *
 * For a machine whose time stamp counter counts instructions (QEMU with -icount shift=0).  A peer
 * behind a TUN device sends bursts of full segments, one a period; the application reads after each
 * burst.  What is left of a period is spent in a loop that is counted, so that timers fire in it as
 * they would, and that is then subtracted.  Prints instructions, segments and ACKs.
 */
#define _GNU_SOURCE
#include <x86intrin.h>

#include "tunpeer.h"

/* Whether the counter counts instructions: the least of some, for interrupts only add to it. */
static bool counts_instructions(void)
{
	const uint64_t turns = 50000;
	uint64_t least = UINT64_MAX;
	int i;

	for (i = 0; i < 100; i++) {
		uint64_t left = turns, began = __rdtsc(), spent;

		/* Two instructions a turn */
		__asm__ volatile("1: dec %0; jnz 1b" : "+r" (left));
		spent = __rdtsc() - began;
		if (spent < least)
			least = spent;
	}
	return least >= 2 * turns && least < 2 * turns + 50;
}

/* Turns of the loop until the counter is there. */
static __attribute__((noinline)) uint64_t spin(uint64_t until)
{
	uint64_t turns = 0;

	while (__rdtsc() < until)
		turns++;
	return turns;
}

/* Instructions a turn, a whole number: the least of some, for interrupts only add to it. */
static uint64_t cost_of_turn(void)
{
	double least = 1e9;
	int i;

	for (i = 0; i < 200; i++) {
		uint64_t began = __rdtsc(), turns = spin(began + 100000);
		double cost = (double)(__rdtsc() - began) / turns;

		if (cost < least)
			least = cost;
	}
	return least + 0.5;
}

int main(int argc, char **argv)
{
	static const uint8_t stamp[] = { 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0 };
	static char buffer[1 << 20];
	static struct segment *segments;
	uint64_t began = 0, next = 0, turns = 0;
	long bursts, burst, i, j;
	size_t octets = 0;
	uint64_t period, cost;
	long replies = 0;

	if (argc != 4)
		errx(2, "usage: receive_cost BURSTS BURST PERIOD_US");
	bursts = atol(argv[1]);
	burst = atol(argv[2]);
	period = atol(argv[3]) * 1000;
	segments = calloc(burst, sizeof(*segments));
	if (!segments)
		err(1, "memory");
	if (!counts_instructions())
		errx(1, "the time stamp counter does not count instructions");
	cost = cost_of_turn();
	peer_open();
	if (!peer_connect(5001, 1, true))
		errx(1, "no connection");

	/* The first bursts are slow start's, with quick ACKs and a growing window. */
	for (i = -bursts; i < bursts; i++) {
		for (j = 0; j < burst; j++) {
			octets = peer_build(&segments[j], (struct sent){
				.seq = peer.next, .ack = peer.sent, .flags = ".", .window = 60000,
				.options = stamp, .options_size = sizeof(stamp), .length = MSS });
			peer.next += MSS;
		}
		if (i <= 0) {
			turns = 0;
			replies = peer.replies;
			began = __rdtsc();
			next = began;
		} else {
			/* Building segments is not what a receiver does. */
			began += __rdtsc() - next;
			next = __rdtsc();
		}
		for (j = 0; j < burst; j++)
			peer_write(&segments[j], octets);
		while (recv(peer.sock, buffer, sizeof(buffer), 0) > 0)
			;
		peer_drain();
		next += period;
		turns += spin(next);
		if (__rdtsc() > next + period)
			errx(1, "a burst of %ld takes longer than %s us", burst, argv[3]);
	}
	printf("instructions %ld\nsegments %ld\nacks %ld\n",
	       (long)(__rdtsc() - began - turns * cost), bursts * burst, peer.replies - replies);
	return 0;
}
