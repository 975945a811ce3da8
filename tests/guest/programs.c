// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks that the kernel preserves a program's registers and memory, and delivers
 * its signals. Prints a line for each check; exits with 1 at the first failure.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, THREADS = 4, ROUNDS = 2000 };

static void check(bool holds, const char *what)
{
	printf("%s: %s\n", holds ? "holds" : "FAILS", what);
	fflush(stdout);
	if (!holds)
		exit(1);
}

/* Threads share memory, but each has its own registers and FS base. */
static __thread int thread_number;
static pthread_barrier_t barrier;

__attribute__((target("avx2"))) static bool keeps_avx(int seed)
{
	__m256i before = _mm256_set1_epi32(seed), after;
	long ret;

	asm volatile("vmovdqa %2, %%ymm9\n\t"
		     "syscall\n\t"
		     "vmovdqa %%ymm9, %0"
		     : "=m"(after), "=a"(ret)
		     : "m"(before), "a"(SYS_sched_yield)
		     : "rcx", "r11", "ymm9", "memory");
	return !ret && !memcmp(&before, &after, sizeof(before));
}

static bool keeps_sse(int seed)
{
	double before = seed, after = 0;
	long ret;

	asm volatile("movsd %2, %%xmm8\n\t"
		     "syscall\n\t"
		     "movsd %%xmm8, %0"
		     : "=m"(after), "=a"(ret)
		     : "m"(before), "a"(SYS_sched_yield)
		     : "rcx", "r11", "xmm8", "memory");
	return !ret && before == after;
}

static void *keep_registers(void *argument)
{
	int number = (int)(intptr_t)argument;
	bool good = true;

	pthread_barrier_wait(&barrier);
	thread_number = number;
	for (int i = 0; i < ROUNDS; i++) {
		int seed = number << 16 | i;

		good &= __builtin_cpu_supports("avx2") ? keeps_avx(seed) :
							 keeps_sse(seed);
		good &= thread_number == number;
	}
	return (void *)(intptr_t)good;
}

static void check_threads(void)
{
	pthread_t threads[THREADS];
	bool good = true;

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (intptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, keep_registers, (void *)i);
	for (int i = 0; i < THREADS; i++) {
		void *result;

		pthread_join(threads[i], &result);
		good &= result != NULL;
	}
	check(good, "threads keep vector registers and thread-local memory");
}

static sigjmp_buf back;
static siginfo_t seen;

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	seen = *info;
	siglongjmp(back, 1);
}

static void catch(int number)
{
	struct sigaction action = {
		.sa_sigaction = on_signal,
		.sa_flags = SA_SIGINFO,
	};

	sigaction(number, &action, NULL);
}

static void check_faults(void)
{
	char *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	volatile int number = 7, zero = 0;

	catch(SIGSEGV);
	catch(SIGFPE);
	catch(SIGILL);
	catch(SIGTRAP);
	if (!sigsetjmp(back, 1))
		*(volatile char *)(page + 7) = 1;
	check(seen.si_signo == SIGSEGV && seen.si_addr == page + 7 &&
	      seen.si_code == SEGV_ACCERR, "a write to a read-only page");
	munmap(page, PAGE);
	if (!sigsetjmp(back, 1))
		number = *(volatile char *)page;
	check(seen.si_signo == SIGSEGV && seen.si_addr == page &&
	      seen.si_code == SEGV_MAPERR, "a read of an unmapped page");
	if (!sigsetjmp(back, 1))
		number /= zero;
	check(seen.si_signo == SIGFPE, "a division by zero");
	if (!sigsetjmp(back, 1))
		asm volatile("ud2");
	check(seen.si_signo == SIGILL, "an invalid instruction");
	if (!sigsetjmp(back, 1))
		asm volatile("int3");
	check(seen.si_signo == SIGTRAP, "a breakpoint");
}

/* Without a handler, so that the kernel reports it */
static void check_fatal_fault(void)
{
	int status;
	pid_t child = fork();

	if (!child) {
		signal(SIGSEGV, SIG_DFL);
		*(volatile char *)NULL = 1;
		_exit(0);
	}
	waitpid(child, &status, 0);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV,
	      "a fault without a handler kills its process");
}

static atomic_int alarms;

static void on_alarm(int number)
{
	(void)number;
	alarms++;
}

static void check_alarm(void)
{
	struct itimerval soon = { .it_value.tv_usec = 1000 };

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &soon, NULL);
	pause();
	check(alarms == 1, "an alarm ends a pause");
}

/* More changes of mappings than fit into one command, each of another page */
static void check_memory(void)
{
	enum { PAGES = 2000 };
	char *pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool good = true;

	for (int i = 0; i < PAGES; i++)
		memset(pages + i * PAGE, i, PAGE);
	for (int i = 0; i < PAGES; i += 2)
		mprotect(pages + i * PAGE, PAGE, PROT_READ);
	for (int i = 1; i < PAGES; i += 2)
		munmap(pages + i * PAGE, PAGE);
	if (!fork()) {
		for (int i = 0; i < PAGES; i += 2) {
			mprotect(pages + i * PAGE, PAGE, PROT_WRITE);
			pages[i * PAGE] = 77;
		}
		_exit(0);
	}
	wait(NULL);
	for (int i = 0; i < PAGES; i += 2)
		good &= pages[i * PAGE] == (char)i &&
			pages[i * PAGE + PAGE - 1] == (char)i;
	check(good, "a child's writes do not change its parent's memory");
}

/* A debugger can step through instructions and system calls. */
static void check_traced(void)
{
	int status, steps = 0;
	pid_t child = fork();

	if (!child) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(42);
	}
	waitpid(child, &status, 0);
	for (; steps < 50; steps++) {
		ptrace(PTRACE_SINGLESTEP, child, NULL, NULL);
		waitpid(child, &status, 0);
		if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
			break;
	}
	ptrace(PTRACE_CONT, child, NULL, NULL);
	waitpid(child, &status, 0);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 42,
	      "a traced child exits normally");
	printf("steps: %d\n", steps);
}

int main(void)
{
	check_threads();
	check_faults();
	check_fatal_fault();
	check_alarm();
	check_memory();
	check_traced();
	check(syscall(100000) == -1 && errno == ENOSYS, "an unknown system call");
	return 0;
}
