// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes that write random data to the stub's pages, where they can, and jump
 * there with random registers. All must end; prints how many ended by each signal.
 *
 * stubfuzz <runs> <seed>
 */
#define _GNU_SOURCE
#include "stub.h"

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { NOBODY = 65534, STACK_WORDS = STUB_STACK_SIZE / 8 };

static uint64_t calls[MAX_CALLS];
static int call_count;
static uint64_t state;

/* SplitMix64: Steele, Lea and Flood, OOPSLA 2014, fig. 15 */
static uint64_t draw(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15UL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9UL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebUL;
	return z ^ (z >> 31);
}

static uint64_t below(uint64_t limit)
{
	return draw() % limit;
}

/* A value that may be meaningful to the stub or to the kernel, or random */
static uint64_t value(void)
{
	static const int numbers[] = {
		SYS_sched_yield, SYS_rt_sigreturn, SYS_arch_prctl, SYS_mmap,
		SYS_munmap, SYS_mprotect, SYS_futex, SYS_openat, SYS_execve,
	};
	static const int signals[] = {
		SIGSYS, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGALRM, SIGIO,
	};

	switch (below(9)) {
	case 0:
		return STUB_STACK + (below(STUB_STACK_SIZE) & ~7UL);
	case 1:
		return STUB_STACK + below(STUB_STACK_SIZE + STUB_PAGE);
	case 2:
		return STUB_DATA + below(STUB_PAGE);
	case 3:
		return numbers[below(sizeof(numbers) / sizeof(*numbers))];
	case 4:
		return signals[below(sizeof(signals) / sizeof(*signals))];
	case 5:
		return below(1024) - 512;
	case 6:
		return (uint64_t)calls;
	case 7:
		return 0x60000000 + below(1 << 29);
	default:
		return draw() >> below(64);
	}
}

/* A signal frame like the host's, with random registers */
static uint64_t frame(void)
{
	uint64_t where = STUB_STACK + (below(STUB_STACK_SIZE / 2) & ~15UL);
	uint64_t fp = (where + sizeof(ucontext_t) + 63 + below(512)) & ~63UL;
	uint32_t magic = 0x46505853, size = below(2) ? 832 : draw();
	ucontext_t *context = (void *)where;

	for (int i = 0; i < NGREG; i++)
		context->uc_mcontext.gregs[i] = value();
	context->uc_mcontext.fpregs = (void *)(below(8) ? fp : value());
	memcpy((void *)(fp + 464), &magic, sizeof(magic));
	memcpy((void *)(fp + 480), &size, sizeof(size));
	return where;
}

static void run_wild(void)
{
	struct registers registers;
	uint64_t *words = (void *)STUB_STACK, target, context;

	if (setgid(NOBODY) || setuid(NOBODY) || setsid() < 0)
		_exit(1);
	if (below(2))
		for (int i = 0; i < STACK_WORDS; i++)
			words[i] = value();
	context = frame();
	for (size_t i = 0; i < sizeof(registers) / 8; i++)
		((uint64_t *)&registers)[i] = value();

	switch (below(4)) {
	case 0: /* anywhere */
		target = STUB_CODE + below(STUB_PAGE);
		break;
	case 1: /* a call, or a few bytes before it */
		target = calls[below(call_count)] - below(32);
		break;
	case 2: /* the call with which the handler stops, with a plausible frame */
		target = calls[below(call_count)];
		registers.rax = SYS_sched_yield;
		registers.rdi = below(2) ? SIGSYS : SIGSEGV;
		registers.rsi = context;
		registers.rdx = context;
		break;
	default: /* a return from a signal that was not delivered */
		target = calls[below(call_count)];
		registers.rax = SYS_rt_sigreturn;
		registers.rsp = context;
	}
	jump(&registers, target);
}

/* Waits up to a second of the guest's time, then kills the child. */
static int end_of(pid_t child)
{
	const struct timespec second = { .tv_sec = 1 };
	sigset_t ended;
	int status;

	sigemptyset(&ended);
	sigaddset(&ended, SIGCHLD);
	if (waitpid(child, &status, WNOHANG) == child)
		return status;
	sigtimedwait(&ended, NULL, &second);
	if (waitpid(child, &status, WNOHANG) == child)
		return status;
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return status;
}

int main(int argc, char **argv)
{
	int runs = argc == 3 ? atoi(argv[1]) : 0, ends[128] = { 0 };
	struct rlimit none = { 0 };
	sigset_t ended;

	if (runs <= 0)
		return 2;
	call_count = find_calls(calls);
	setrlimit(RLIMIT_CORE, &none);
	sigemptyset(&ended);
	sigaddset(&ended, SIGCHLD);
	sigprocmask(SIG_BLOCK, &ended, NULL);
	for (int i = 0; i < runs; i++) {
		pid_t child;
		int status;

		state = strtoull(argv[2], NULL, 0) + ((uint64_t)i << 32);
		child = fork();
		if (!child)
			run_wild();
		status = end_of(child);
		ends[WIFSIGNALED(status) ? WTERMSIG(status) : 0]++;
	}
	for (int i = 0; i < 128; i++)
		if (ends[i])
			printf("%d ended by signal %d\n", ends[i], i);
	printf("runs: %d\n", runs);
	return 0;
}
