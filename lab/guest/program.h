/* SPDX-License-Identifier: GPL-2.0-only */
/* Helpers shared by the guest's programs. Needs _GNU_SOURCE. */
#ifndef AIRTCP_PROGRAM_H
#define AIRTCP_PROGRAM_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NSEC_PER_SEC	1000000000LL

static inline void fail(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		strerror(errno));
	exit(1);
}

/* Write what is left of standard output; fail if any of it was not written. */
static inline void end_output(void)
{
	if (fflush(stdout) || ferror(stdout))
		fail("writing");
}

/* Parse an integer from min to max; exit with status 2 if it is invalid. */
static inline long number(const char *text, long min, long max)
{
	char *end;
	long value = strtol(text, &end, 0);

	if (end == text || *end || value < min || value > max) {
		fprintf(stderr, "%s: %s: not an integer from %ld to %ld\n",
			program_invocation_short_name, text, min, max);
		exit(2);
	}
	return value;
}

static inline long long now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

#endif
