// SPDX-License-Identifier: GPL-2.0-only
/*
 * keep FILE COPY [FILE COPY]...: copy files, such as those of sysfs and
 * debugfs. One program copies all of them, because starting a program is
 * expensive in User Mode Linux.
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

int main(int argc, char **argv)
{
	int i;

	if (argc < 3 || argc % 2 == 0) {
		fputs("usage: keep FILE COPY [FILE COPY]...\n", stderr);
		return 2;
	}
	for (i = 1; i < argc; i += 2)
		copy(argv[i], argv[i + 1]);
	return 0;
}
