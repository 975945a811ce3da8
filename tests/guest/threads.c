// SPDX-License-Identifier: GPL-2.0-only
/*
 * Starts processes with threads and reads /proc/PID/task/TID/stat of each thread
 * before they end, at a higher priority than theirs. Prints how many ended.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSES = 200, THREADS = 4, MS = 1000000 };

static void sleep_ns(long ns)
{
	struct timespec time = { .tv_nsec = ns };

	nanosleep(&time, NULL);
}

static void *wait_for_end(void *unused)
{
	pause();
	return unused;
}

static int read_threads(pid_t pid)
{
	struct dirent *entry;
	char path[64];
	int count = 0;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return 0;
	while ((entry = readdir(tasks))) {
		char content[512];
		int fd;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.16s/stat", pid,
			 entry->d_name);
		fd = open(path, O_RDONLY);
		if (fd < 0)
			continue;
		if (read(fd, content, sizeof(content)) > 0)
			count++;
		close(fd);
	}
	closedir(tasks);
	return count;
}

int main(void)
{
	struct sched_param first = { .sched_priority = 1 };
	int ended = 0;

	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first)) {
		perror("sched_setscheduler");
		return 1;
	}
	for (int i = 0; i < PROCESSES; i++) {
		pid_t child = fork();

		if (!child) {
			for (int j = 0; j < THREADS; j++) {
				pthread_t thread;

				pthread_create(&thread, NULL, wait_for_end,
					       NULL);
			}
			sleep_ns(MS);
			_exit(0);
		}
		sleep_ns(MS / 2);
		if (read_threads(child) == THREADS + 1 &&
		    waitpid(child, NULL, 0) == child)
			ended++;
	}
	printf("ended: %d of %d\n", ended, PROCESSES);
	return ended != PROCESSES;
}
