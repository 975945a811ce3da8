/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pages that User Mode Linux maps into every program: code that makes system
 * calls of the host, and data. A program can jump there with any registers.
 */
#ifndef STUB_H
#define STUB_H

#include <cpuid.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STUB_PAGE = 4096, STUB_DATA_PAGES = 4, MAX_CALLS = 64 };

/* Chosen by the kernel, above the program's own memory */
#define STUB_CODE 0x7fbffff000UL
#define STUB_DATA (STUB_CODE + STUB_PAGE)
#define STUB_DATA_END (STUB_DATA + STUB_DATA_PAGES * STUB_PAGE)
/* All but the first page is the handler's stack, which programs can write. */
#define STUB_STACK (STUB_DATA + STUB_PAGE)
#define STUB_STACK_SIZE ((STUB_DATA_PAGES - 1) * STUB_PAGE)

struct registers {
	uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp;
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
};

static sigjmp_buf unreadable;

static void on_unreadable(int number)
{
	(void)number;
	siglongjmp(unreadable, 1);
}

/* With protection keys, code can be executed but not read, unless PKRU allows it. */
static void allow_reading_code(void)
{
	unsigned int a, b, c, d;

	if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && c & 1 << 4)
		asm volatile(".byte 0x0f, 0x01, 0xef" /* wrpkru */
			     : : "a"(0), "c"(0), "d"(0));
}

/* Finds the stub's system calls; exits if there are none at STUB_CODE. */
static int find_calls(uint64_t *calls)
{
	static unsigned char code[STUB_PAGE];
	int count = 0;

	allow_reading_code();
	signal(SIGSEGV, on_unreadable);
	if (sigsetjmp(unreadable, 1)) {
		printf("%#lx is not readable\n", STUB_CODE);
		exit(2);
	}
	memcpy(code, (void *)STUB_CODE, sizeof(code));
	signal(SIGSEGV, SIG_DFL);
	for (int i = 0; i + 1 < STUB_PAGE && count < MAX_CALLS; i++)
		if (code[i] == 0x0f && code[i + 1] == 0x05)
			calls[count++] = STUB_CODE + i;
	if (!count) {
		printf("no system call at %#lx\n", STUB_CODE);
		exit(2);
	}
	return count;
}

static uint64_t __attribute__((used)) jump_target;
static struct registers __attribute__((used)) jump_registers;

static void __attribute__((noreturn, noinline))
jump(const struct registers *registers, uint64_t target)
{
	jump_registers = *registers;
	jump_target = target;
	asm volatile("lea jump_registers(%%rip), %%r15\n\t"
		     "mov %c[rax](%%r15), %%rax\n\t"
		     "mov %c[rbx](%%r15), %%rbx\n\t"
		     "mov %c[rcx](%%r15), %%rcx\n\t"
		     "mov %c[rdx](%%r15), %%rdx\n\t"
		     "mov %c[rsi](%%r15), %%rsi\n\t"
		     "mov %c[rdi](%%r15), %%rdi\n\t"
		     "mov %c[rbp](%%r15), %%rbp\n\t"
		     "mov %c[rsp](%%r15), %%rsp\n\t"
		     "mov %c[r8](%%r15), %%r8\n\t"
		     "mov %c[r9](%%r15), %%r9\n\t"
		     "mov %c[r10](%%r15), %%r10\n\t"
		     "mov %c[r11](%%r15), %%r11\n\t"
		     "mov %c[r12](%%r15), %%r12\n\t"
		     "mov %c[r13](%%r15), %%r13\n\t"
		     "mov %c[r14](%%r15), %%r14\n\t"
		     "mov %c[r15](%%r15), %%r15\n\t"
		     "jmp *jump_target(%%rip)"
		     : : [rax] "i"(offsetof(struct registers, rax)),
		     [rbx] "i"(offsetof(struct registers, rbx)),
		     [rcx] "i"(offsetof(struct registers, rcx)),
		     [rdx] "i"(offsetof(struct registers, rdx)),
		     [rsi] "i"(offsetof(struct registers, rsi)),
		     [rdi] "i"(offsetof(struct registers, rdi)),
		     [rbp] "i"(offsetof(struct registers, rbp)),
		     [rsp] "i"(offsetof(struct registers, rsp)),
		     [r8] "i"(offsetof(struct registers, r8)),
		     [r9] "i"(offsetof(struct registers, r9)),
		     [r10] "i"(offsetof(struct registers, r10)),
		     [r11] "i"(offsetof(struct registers, r11)),
		     [r12] "i"(offsetof(struct registers, r12)),
		     [r13] "i"(offsetof(struct registers, r13)),
		     [r14] "i"(offsetof(struct registers, r14)),
		     [r15] "i"(offsetof(struct registers, r15))
		     : "memory");
	__builtin_unreachable();
}

#endif
