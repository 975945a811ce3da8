// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tries to make system calls of the host through the stub, by each of its
 * `syscall` instructions, each in its own process. The process must be killed
 * before the call returns. Then passes forged signal frames to the kernel, with
 * wild pointers in registers and in memory.
 *
 * escape <path that must not be created on the host>
 */
#define _GNU_SOURCE
#include "stub.h"

#include <asm/prctl.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { X32 = 0x40000000, STACK_WORDS = 4096, PHYSMEM = 0x60000000 };

static const char *path;
static uint64_t calls[MAX_CALLS];
static int call_count;
static int escaped;

/* A `ret` of the stub returns to here if the call succeeded. */
static void __attribute__((noreturn)) land(void)
{
	_exit(42);
}

/* A stack with the address of land() in each word, aligned as in a call */
static uint64_t landing_stack(void)
{
	static uint64_t stack[STACK_WORDS];

	for (int i = 0; i < STACK_WORDS; i++)
		stack[i] = (uint64_t)land;
	return (uint64_t)&stack[STACK_WORDS / 2] & ~15UL;
}

static void report(const char *what, int killed, int reached, int others)
{
	printf("%s: killed %d, reached %d, others %d\n", what, killed, reached,
	       others);
	fflush(stdout);
	escaped += reached + others;
}

/* Tries the first count `syscall` instructions of the stub, each in a process */
static void attempt_by(int count, const char *what, void (*try)(uint64_t call))
{
	int killed = 0, reached = 0, others = 0;

	for (int i = 0; i < count; i++) {
		int status;
		pid_t child = fork();

		if (!child)
			try(calls[i]);
		waitpid(child, &status, 0);
		if (WIFSIGNALED(status))
			killed++;
		else if (WIFEXITED(status) && WEXITSTATUS(status) == 42)
			reached++;
		else
			others++;
	}
	report(what, killed, reached, others);
}

/* Returns true in the child, and false in the parent after it was killed. */
static bool in_child(void)
{
	pid_t child = fork();
	int status;

	if (!child)
		return true;
	waitpid(child, &status, 0);
	if (!WIFSIGNALED(status))
		_exit(42);
	return false;
}

static void attempt(const char *what, void (*try)(uint64_t call))
{
	attempt_by(call_count, what, try);
}

static void call_host(uint64_t call, long number, long a, long b, long c,
		      long d, long e, long f)
{
	struct registers registers = {
		.rax = number, .rdi = a, .rsi = b, .rdx = c, .r10 = d, .r8 = e,
		.r9 = f, .rsp = landing_stack(), .rbp = landing_stack(),
		.rbx = STUB_DATA,
	};

	jump(&registers, call);
}

#define CALL(name, ...) \
	static void try_##name(uint64_t call) { call_host(call, __VA_ARGS__); }

CALL(openat, SYS_openat, AT_FDCWD, (long)path, O_CREAT | O_WRONLY, 0666, 0, 0)
CALL(x32_openat, X32 | SYS_openat, AT_FDCWD, (long)path, O_CREAT | O_WRONLY,
     0666, 0, 0)
CALL(creat, SYS_creat, (long)path, 0666, 0, 0, 0, 0)
CALL(mkdir, SYS_mkdir, (long)path, 0777, 0, 0, 0, 0)
CALL(symlink, SYS_symlink, (long)"x", (long)path, 0, 0, 0, 0)
CALL(fork, SYS_fork, 0, 0, 0, 0, 0, 0)
CALL(clone, SYS_clone, SIGCHLD, 0, 0, 0, 0, 0)
CALL(kill, SYS_kill, 1, 0, 0, 0, 0, 0)
CALL(ptrace, SYS_ptrace, 0, 0, 0, 0, 0, 0)
CALL(socket, SYS_socket, 1, 1, 0, 0, 0, 0)
CALL(futex, SYS_futex, STUB_STACK, 0, 0, 0, 0, 0)
CALL(mprotect_code, SYS_mprotect, STUB_CODE, STUB_PAGE, 7, 0, 0, 0)
CALL(mprotect_commands, SYS_mprotect, STUB_DATA, STUB_PAGE, 3, 0, 0, 0)
CALL(munmap, SYS_munmap, STUB_DATA, STUB_PAGE, 0, 0, 0, 0)
CALL(arch_prctl, SYS_arch_prctl, ARCH_GET_FS, STUB_STACK, 0, 0, 0, 0)

static void try_execve(uint64_t call)
{
	char *arguments[] = { "/bin/touch", (char *)path, NULL };

	call_host(call, SYS_execve, (long)arguments[0], (long)arguments, 0, 0, 0,
		  0);
}

/* The kernel's memory is a file with a low descriptor number. */
static void try_mmap(uint64_t call)
{
	for (int fd = 0; fd < 16; fd++)
		if (in_child())
			call_host(call, SYS_mmap, 0x10000000, STUB_PAGE,
				  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
				  fd, 0);
	raise(SIGKILL);
}

static void try_process_vm_writev(uint64_t call)
{
	struct { void *base; size_t length; } there = { (void *)PHYSMEM, 8 };

	call_host(call, SYS_process_vm_writev, getppid(), (long)&there, 1,
		  (long)&there, 1, 0);
}

/* Not through the stub, but a system call of another architecture */
static void try_int80(uint64_t call)
{
	long result;

	(void)call;
	asm volatile("int $0x80" : "=a"(result)
		     : "a"(8 /* creat */), "b"(path), "c"(0666) : "memory");
	raise(SIGKILL);
}

static const uint64_t wild[] = {
	0, 1, -1UL, PHYSMEM, PHYSMEM + 0x1000, STUB_CODE, STUB_DATA,
	STUB_STACK - 8, STUB_STACK, STUB_STACK + 1, STUB_DATA_END - 8,
	STUB_DATA_END, STUB_DATA_END + 0x1000, -(STUB_DATA), 1UL << 63,
};

enum { WILD = sizeof(wild) / sizeof(*wild) };

/* Arguments of the stub's handler: the signal, the address of its frame */
static void try_wild_arguments(uint64_t call)
{
	for (int sig = -1; sig < 66; sig++) {
		for (int i = 0; i < WILD * WILD; i++) {
			/* All signals with some pointers, some with all */
			if (i % 16 && sig != SIGSEGV && sig != SIGSYS)
				continue;
			if (in_child())
				call_host(call, SYS_sched_yield, sig,
					  wild[i % WILD], wild[i / WILD], 0, 0, 0);
		}
	}
	raise(SIGKILL);
}

/* A frame at a valid address, with a wild pointer to the registers */
static void try_wild_frame(uint64_t call)
{
	for (int i = 0; i < WILD; i++) {
		if (in_child()) {
			ucontext_t *frame = (void *)(STUB_STACK + 256);

			memset(frame, 0, sizeof(*frame));
			frame->uc_mcontext.gregs[REG_RAX] = SYS_getpid;
			frame->uc_mcontext.fpregs = (void *)wild[i];
			call_host(call, SYS_sched_yield, SIGSYS, STUB_STACK,
				  (long)frame, 0, 0, 0);
		}
	}
	raise(SIGKILL);
}

/* Invalid sizes of the vector registers */
static void try_wild_sizes(uint64_t call)
{
	static const uint32_t sizes[] = { 0, 1, 511, 512, 513, 576, 8192,
					  0x7fffffff, 0x80000000, 0xffffffff };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		if (in_child()) {
			ucontext_t *frame = (void *)(STUB_STACK + 256);
			char *fp = (char *)STUB_DATA_END - 1024;
			uint32_t magic = 0x46505853;

			memset(frame, 0, sizeof(*frame));
			memset(fp, 0xff, 1024);
			frame->uc_mcontext.gregs[REG_RAX] = SYS_getpid;
			frame->uc_mcontext.fpregs = (void *)fp;
			memcpy(fp + 464, &magic, sizeof(magic));
			memcpy(fp + 464 + 16, &sizes[i], sizeof(*sizes));
			call_host(call, SYS_sched_yield, SIGSYS, STUB_STACK,
				  (long)frame, 0, 0, 0);
		}
	}
	raise(SIGKILL);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	path = argv[1];
	call_count = find_calls(calls);
	printf("the stub has system calls: %s\n", call_count > 1 ? "yes" : "no");
	attempt("openat", try_openat);
	attempt("openat of x32", try_x32_openat);
	attempt("creat", try_creat);
	attempt("mkdir", try_mkdir);
	attempt("symlink", try_symlink);
	attempt("execve", try_execve);
	attempt("fork", try_fork);
	attempt("clone", try_clone);
	attempt("kill", try_kill);
	attempt("ptrace", try_ptrace);
	attempt("process_vm_writev", try_process_vm_writev);
	attempt("socket", try_socket);
	attempt("futex", try_futex);
	attempt("mmap of the kernel's files", try_mmap);
	attempt("munmap of the stub", try_munmap);
	attempt("mprotect of the stub's code", try_mprotect_code);
	attempt("mprotect of the kernel's commands", try_mprotect_commands);
	attempt("arch_prctl that writes", try_arch_prctl);
	attempt("creat of i386", try_int80);
	attempt_by(1, "wild arguments", try_wild_arguments);
	attempt_by(1, "wild frames", try_wild_frame);
	attempt_by(1, "wild sizes", try_wild_sizes);
	printf("escaped: %d\n", escaped);
	return escaped != 0;
}
