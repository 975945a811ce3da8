// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first program of the guest. uml.py has mounted /run (tmpfs), /run/airtcp
 * (the directory of this run on the host, writable) and /run/tools (our programs).
 * It runs /run/airtcp/plan.sh, writes its exit status to /run/airtcp/exit and
 * powers off. With AIRTCP_INTERACTIVE in the environment the plan gets the
 * terminal.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct {
	const char *type;
	const char *place;
} mounts[] = {
	{ "proc", "/proc" },
	{ "sysfs", "/sys" },
	{ "devtmpfs", "/dev" },
	{ "devpts", "/dev/pts" },
	{ "tmpfs", "/dev/shm" },
	{ "tmpfs", "/tmp" },
	{ "debugfs", "/sys/kernel/debug" },
	{ "tracefs", "/sys/kernel/tracing" },
};

static void say(const char *what)
{
	fprintf(stderr, "init: %s: %s\n", what, strerror(errno));
}

/* A failed mount is not fatal, because the plan may not need it. */
static void make_places(void)
{
	size_t i;

	for (i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
		if (!strncmp(mounts[i].place, "/dev/", strlen("/dev/")))
			mkdir(mounts[i].place, 0755);
		if (mount(mounts[i].type, mounts[i].place, mounts[i].type, 0,
			  NULL))
			say(mounts[i].place);
	}
	if (symlink("/proc/self/fd", "/dev/fd") ||
	    symlink("/proc/self/fd/0", "/dev/stdin"))
		say("/dev");
}

static void start_loopback(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo))
		say("lo");
	close(fd);
}

/* Seconds since boot. */
static void sleep_until(int second)
{
	struct timespec when = { .tv_sec = second };

	clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &when, NULL);
}

/* Write the seconds since boot for the host's progress display, forever. */
static void report_progress(int second)
{
	int fd = open("progress", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	char text[16];

	for (;; second++) {
		sleep_until(second);
		if (pwrite(fd, text, sprintf(text, "%d\n", second), 0) < 0)
			say("progress");
	}
}

static void take_terminal(void)
{
	int fd = open("/dev/tty0", O_RDWR);

	setsid();
	if (fd < 0 || ioctl(fd, TIOCSCTTY, 1))
		say("/dev/tty0");
	dup2(fd, STDIN_FILENO);
	dup2(fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
}

static void run_plan(bool interactive)
{
	if (interactive)
		take_terminal();
	else
		dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
	execlp("sh", "sh", "plan.sh", NULL);
	say("sh");
	_exit(127);
}

static void leave_status(int status)
{
	FILE *file = fopen("exit", "w");

	if (!file || fprintf(file, "%d\n", WIFEXITED(status) ?
			     WEXITSTATUS(status) : 128 + WTERMSIG(status)) < 0 ||
	    fclose(file))
		say("exit");
}

int main(void)
{
	bool interactive = getenv("AIRTCP_INTERACTIVE");
	int status;
	pid_t plan;

	setenv("PATH", "/run/tools:/usr/sbin:/usr/bin:/sbin:/bin", true);
	setenv("HOME", "/root", true);
	setenv("LANG", "C.UTF-8", true);
	setenv("TZ", "UTC", true);
	make_places();
	start_loopback();
	/*
	 * By then the guest has high-resolution timers. Different kernels also
	 * read the clock a few times more or less while booting, 256 virtual
	 * nanoseconds each; from here on their time is the same.
	 */
	sleep_until(1);

	if (!chdir("/run/airtcp")) {
		if (!interactive && !fork())
			report_progress(2);
		plan = fork();
		if (!plan)
			run_plan(interactive);
		while (wait(&status) != plan)
			; /* reap orphans */
		leave_status(status);
	}
	sync();
	reboot(RB_POWER_OFF);
	say("switching off");
	return 1;
}
