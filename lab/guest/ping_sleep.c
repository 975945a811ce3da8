// SPDX-License-Identifier: GPL-2.0-only
/*
 * LD_PRELOAD library that makes ping sleep instead of polling. Built with
 * -shared -fPIC.
 *
 * If a reply arrives less than 10 ms before the next request is due, ping calls
 * sched_yield() and recvmsg() until then. In User Mode Linux only its readings of
 * the clock let virtual time pass, by less than a microsecond each.
 */
#include <sched.h>
#include <time.h>

enum { PAUSE_NS = 100000 };

int sched_yield(void)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };

	nanosleep(&pause, NULL);
	return 0;
}
