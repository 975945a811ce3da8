// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preloaded into packetdrill, which waits for a jiffy by calling times() until
 * its result changes.  Virtual time advances only if the process sleeps.
 */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

clock_t times(struct tms *buffer)
{
	const struct timespec pause = { .tv_nsec = 10000 };

	nanosleep(&pause, NULL);
	return syscall(SYS_times, buffer);
}
