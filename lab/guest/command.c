// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run a command of the user within limits, and measure how long it takes.
 *
 *	command NAME run SECONDS TIMES COMMAND
 *	command NAME serve COMMAND
 *
 * COMMAND is for sh; it and its programs are the host's. It runs in an empty
 * directory in memory and cannot see the directory of the run. Its output goes to
 * NAME.out and NAME.err there. A file must not exceed 64 MB, and there are at most
 * 600 processes.
 *
 * run: runs it TIMES times in sequence and prints CSV like exchange does, with a row
 * per execution. It fails if the command fails, or takes longer than SECONDS; then all
 * its processes are killed.
 *
 * serve: runs it until this program is terminated. It fails if the command has
 * failed before.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "program.h"

#define HOSTROOT	"/run/tools/hostroot"
#define RUN_DIRECTORY	"/run/airtcp"
#define MAX_FILE_BYTES	(64 << 20)
#define MAX_PROCESSES	"600"
#define MAX_SECONDS	86400
#define MAX_TIMES	10000

static pid_t group;

static void usage(void)
{
	fputs("usage: command NAME run SECONDS TIMES COMMAND\n"
	      "       command NAME serve COMMAND\n",
	      stderr);
	exit(2);
}

static int open_output(const char *name, const char *suffix)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s.%s", name, suffix);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC,
		  0644);
	if (fd < 0)
		fail(path);
	return fd;
}

/* RLIMIT_NPROC does not apply to root. */
static void limit_processes(void)
{
	int fd = open("/proc/sys/kernel/pid_max", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, MAX_PROCESSES, strlen(MAX_PROCESSES)) < 0)
		fail("limiting the number of processes");
	close(fd);
}

static void limit_files(void)
{
	const struct rlimit limit = { MAX_FILE_BYTES, MAX_FILE_BYTES };
	char directory[64];

	if (setrlimit(RLIMIT_FSIZE, &limit))
		fail("limiting the size of files");
	snprintf(directory, sizeof(directory), "/tmp/command-%d", getpid());
	if (mkdir(directory, 0755) || chdir(directory))
		fail(directory);
	/* The program `node` has given this process its own mounts. */
	if (mount("none", RUN_DIRECTORY, "tmpfs", MS_RDONLY, NULL))
		fail(RUN_DIRECTORY);
}

static void kill_group(void)
{
	if (group > 0)
		kill(-group, SIGKILL);
}

static void on_terminate(int signal)
{
	(void)signal;
	kill_group();
	_exit(0);
}

static void begin(const char *command, int output, int errors)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;

	group = fork();
	if (group < 0)
		fail("starting a process");
	if (group) {
		setpgid(group, group);
		return;
	}
	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(null, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(errors, STDERR_FILENO);
	execl(HOSTROOT, HOSTROOT, "sh", "-c", command, NULL);
	fail(HOSTROOT);
}

/* Wait for the command; SIGCHLD is blocked. Exits unless it has succeeded. */
static void await(const char *name, long seconds)
{
	const struct timespec limit = { .tv_sec = seconds };
	sigset_t child;
	int status;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	while (waitpid(group, &status, WNOHANG) == 0) {
		if (sigtimedwait(&child, NULL, &limit) >= 0 || errno == EINTR)
			continue;
		kill_group();
		fprintf(stderr, "%s: ended after %ld s, its limit\n", name,
			seconds);
		exit(124);
	}
	kill_group();
	if (WIFSIGNALED(status)) {
		fprintf(stderr, "%s: ended by signal %d (%s)\n", name,
			WTERMSIG(status), strsignal(WTERMSIG(status)));
		exit(128 + WTERMSIG(status));
	}
	if (WEXITSTATUS(status)) {
		fprintf(stderr, "%s: exit code %d\n", name,
			WEXITSTATUS(status));
		exit(WEXITSTATUS(status));
	}
}

static void run(const char *name, const char *command, long seconds,
		long times, int output, int errors)
{
	puts("port,start_ns,end_ns");
	for (; times > 0; times--) {
		long long start_ns = now_ns(CLOCK_REALTIME);

		begin(command, output, errors);
		await(name, seconds);
		printf("0,%lld,%lld\n", start_ns, now_ns(CLOCK_REALTIME));
		end_output();
	}
}

int main(int argc, char **argv)
{
	const struct sigaction terminate = { .sa_handler = on_terminate };
	bool serves = argc == 4 && !strcmp(argv[2], "serve");
	long seconds = MAX_SECONDS, times = 1;
	int output, errors;
	sigset_t child;

	if (!serves && (argc != 6 || strcmp(argv[2], "run")))
		usage();
	if (!serves) {
		seconds = number(argv[3], 1, MAX_SECONDS);
		times = number(argv[4], 1, MAX_TIMES);
	}
	sigaction(SIGTERM, &terminate, NULL);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	output = open_output(argv[1], "out");
	errors = open_output(argv[1], "err");
	limit_processes();
	limit_files();
	if (serves) {
		begin(argv[3], output, errors);
		await(argv[1], MAX_SECONDS);
		fprintf(stderr, "%s: exit code 0\n", argv[1]);
		return 0;
	}
	run(argv[1], argv[5], seconds, times, output, errors);
	return 0;
}
