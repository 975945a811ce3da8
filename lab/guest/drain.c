// SPDX-License-Identifier: GPL-2.0-only
/*
 * Read a FIFO at a rate until its writers have closed it.
 *
 *	drain BITS_PER_SECOND FIFO
 *
 * A program that writes all that it receives to the FIFO (iperf3 -F) cannot read
 * its sockets faster. A token bucket of one page, the unit in which the kernel
 * makes room in a FIFO.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "program.h"

enum { PAGE = 4096 };

static void sleep_until(long long time_ns)
{
	const struct timespec wake = {
		.tv_sec = time_ns / NSEC_PER_SEC,
		.tv_nsec = time_ns % NSEC_PER_SEC,
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL) == EINTR)
		;
}

int main(int argc, char **argv)
{
	long long next_ns = 0, credit_ns;
	char page[PAGE];
	ssize_t bytes;
	long bps;
	int fifo;

	if (argc != 3) {
		fputs("usage: drain BITS_PER_SECOND FIFO\n", stderr);
		return 2;
	}
	bps = number(argv[1], 1, LONG_MAX);
	prctl(PR_SET_TIMERSLACK, 1); /* ns; the default of 50 us is a third of a page at 200 Mbit/s */
	fifo = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (fifo < 0)
		fail(argv[2]);
	while ((bytes = read(fifo, page, sizeof(page)))) {
		if (bytes < 0)
			fail(argv[2]);
		/* It may be late by the time of a page, and then catches up. */
		credit_ns = now_ns(CLOCK_MONOTONIC) - PAGE * 8 * NSEC_PER_SEC / bps;
		if (next_ns < credit_ns)
			next_ns = credit_ns;
		next_ns += bytes * 8 * NSEC_PER_SEC / bps;
		sleep_until(next_ns);
	}
	return 0;
}
