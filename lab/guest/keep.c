// SPDX-License-Identifier: GPL-2.0-only
/*
 * keep FILE COPY [FILE COPY]...: copy what the kernel tells in files, in one
 * program for all of them. To start one is what costs in User Mode Linux.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "program.h"

static void copy(const char *from, const char *to)
{
	static char buffer[65536];
	int in = open(from, O_RDONLY), out;
	ssize_t bytes;

	if (in < 0)
		fail(from);
	out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (out < 0)
		fail(to);
	while ((bytes = read(in, buffer, sizeof(buffer))) > 0) {
		if (write(out, buffer, bytes) != bytes)
			fail(to);
	}
	if (bytes < 0)
		fail(from);
	if (close(out))
		fail(to);
	close(in);
}

int main(int count, char **words)
{
	int i;

	if (count < 3 || count % 2 == 0) {
		fputs("usage: keep FILE COPY [FILE COPY]...\n", stderr);
		return 2;
	}
	for (i = 1; i < count; i += 2)
		copy(words[i], words[i + 1]);
	return 0;
}
