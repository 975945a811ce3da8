// SPDX-License-Identifier: GPL-2.0-only
/*
 * wakeat SECONDS: sleep until so long after boot. Kernels that differ need
 * a few reads of the clock more or less to boot, 256 virtual nanoseconds each;
 * from here on they are at the same time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int count, char **words)
{
	struct timespec when = { .tv_sec = count == 2 ? atoi(words[1]) : 0 };

	if (when.tv_sec < 1) {
		fputs("usage: wakeat SECONDS, 1 or more since boot\n", stderr);
		return 2;
	}
	return clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &when, NULL);
}
