// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that are not traced: a seccomp filter makes each of their system
 * calls a signal, and the stub's handler of signals and the kernel take turns
 * by a futex in memory that both have. The handler's frame holds the program's
 * registers. A way into the kernel and out costs four system calls of the host
 * instead of a dozen, a page fault one such way instead of three.
 */

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <as-layout.h>
#include <init.h>
#include <kern_util.h>
#include <mm_id.h>
#include <os.h>
#include <ptrace_user.h>
#include <skas.h>
#include <sysdep/mcontext.h>
#include <sysdep/stub.h>
#include <timetravel.h>
#include "../internal.h"

extern char __syscall_stub_start[];

/* Decided before the first program runs, not changed thereafter */
int using_seccomp;

#ifdef __x86_64__

/* SA_RESTORER and this form of sigaction are not in libc's headers. */
#define RESTORER 0x04000000
struct host_sigaction {
	void (*handler)(int sig, siginfo_t *info, void *p);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

static const int signals[] = {
	SIGSYS, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGALRM
};

static int seccomp_off;

static int __init seccomp_param(char *line, int *add)
{
	*add = 0;
	seccomp_off = !strcmp(line, "off");
	return 0;
}

__uml_setup("seccomp=", seccomp_param,
	    "seccomp=off\n"
	    "    Trace programs with ptrace(), although the host's seccomp would do.\n\n"
);

/* Say at boot which way it is; both give the same virtual time. */
void __init check_seccomp(void)
{
	unsigned int action = SECCOMP_RET_TRAP;

	using_seccomp = !seccomp_off &&
			!syscall(__NR_seccomp, SECCOMP_GET_ACTION_AVAIL, 0,
				 &action);
	os_info("Programs enter the kernel by %s\n",
		using_seccomp ? "seccomp" : "ptrace");
}

static void *in_stub(void *function)
{
	return (void *)STUB_CODE + (function - (void *)__syscall_stub_start);
}

static void install_handlers(void)
{
	struct host_sigaction action = {
		.handler = in_stub(stub_signal_handler),
		.flags = SA_ONSTACK | SA_SIGINFO | RESTORER,
		.restorer = in_stub(stub_signal_restorer),
		.mask = ~0UL,
	};
	sigset_t none;
	unsigned int i;

	/* What ends the kernel must not run its handlers here. */
	signal(SIGINT, SIG_DFL);
	signal(SIGHUP, SIG_DFL);

	for (i = 0; i < ARRAY_SIZE(signals); i++)
		if (syscall(__NR_rt_sigaction, signals[i], &action, NULL,
			    sizeof(action.mask)))
			exit(1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Only the stub may call the host. */
static void install_filter(void)
{
	const unsigned int ip = offsetof(struct seccomp_data,
					 instruction_pointer);
	const unsigned int first = (unsigned int)STUB_CODE;
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ip + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, STUB_CODE >> 32, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ip),
		BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, first),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, UM_KERN_PAGE_SIZE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_SIZE(filter), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
		exit(1);
}

/**
 * enter_seccomp_stub() - give the kernel the first turn
 *
 * For the process that is to run programs, with the stub's pages in place.
 * Returns with the registers of the first program, that is not at all.
 */
void enter_seccomp_stub(void)
{
	install_handlers();
	install_filter();
	syscall(__NR_getpid);
	exit(1);
}

static void check_alive(int pid)
{
	int status;

	if (waitpid(pid, &status, WNOHANG | __WALL) != pid)
		return;
	os_warn("a program's process ended: pid %d, status 0x%x\n", pid, status);
	fatal_sigsegv();
}

/**
 * wait_seccomp_stub() - wait for the kernel's turn
 * @mm_idp: the program's memory
 */
void wait_seccomp_stub(struct mm_id *mm_idp)
{
	struct stub_data *data = (void *)mm_idp->stack;
	const struct timespec second = { .tv_sec = 1 };

	while (__atomic_load_n(&data->turn, __ATOMIC_SEQ_CST) !=
	       STUB_TURN_KERNEL)
		if (syscall(__NR_futex, &data->turn, FUTEX_WAIT,
			    STUB_TURN_PROGRAM, &second) && errno == ETIMEDOUT)
			check_alive(mm_idp->pid);
}

/**
 * run_seccomp_stub() - do what is to be done in a program's memory, and run it
 * @mm_idp: the program's memory
 *
 * Returns when the program has stopped; without having run it when stay is set
 * or when the work fails, with the error in syscall_data_len.
 */
void run_seccomp_stub(struct mm_id *mm_idp)
{
	struct stub_data *data = (void *)mm_idp->stack;

	data->syscall_data_len = mm_idp->syscall_data_len;
	__atomic_store_n(&data->turn, STUB_TURN_PROGRAM, __ATOMIC_SEQ_CST);
	syscall(__NR_futex, &data->turn, FUTEX_WAKE, 1);
	wait_seccomp_stub(mm_idp);

	if (data->err < 0) {
		syscall_stub_dump_error(mm_idp);
		mm_idp->syscall_data_len = data->err;
	} else {
		mm_idp->syscall_data_len = 0;
	}
}

/* Errors of work on the memory that was done before, or just now */
static void check_memory(struct mm_id *mm_idp)
{
	int err = mm_idp->syscall_data_len;

	if (err >= 0)
		return;
	mm_idp->syscall_data_len = 0;
	if (err == -ENOMEM)
		report_enomem();
	os_warn("the stub's system calls failed: %d\n", err);
	fatal_sigsegv();
}

/**
 * userspace_seccomp() - userspace() without ptrace: it does not return
 * @regs: the current task's registers
 */
void userspace_seccomp(struct uml_pt_regs *regs)
{
	while (1) {
		struct mm_id *mm_idp = current_mm_id();
		struct stub_data *data = (void *)mm_idp->stack;
		struct siginfo *si;
		int sig;

		time_travel_print_bc_msg();
		current_mm_sync();
		check_memory(mm_idp);

		put_stub_regs(regs, data);
		run_seccomp_stub(mm_idp);
		check_memory(mm_idp);

		regs->is_user = 1;
		get_stub_regs(regs, data);
		UPT_SYSCALL_NR(regs) = -1; /* Assume: It's not a syscall */
		sig = data->signal;
		si = (void *)data + (data->siginfo - STUB_DATA);

		switch (sig) {
		case SIGSYS:
			handle_syscall(regs);
			break;
		case SIGSEGV:
			segv(regs->faultinfo, 0, 1, NULL);
			break;
		case SIGTRAP:
			relay_signal(SIGTRAP, si, regs);
			break;
		case SIGALRM:
			break;
		default:
			block_signals_trace();
			(*sig_info[sig])(sig, si, regs);
			unblock_signals_trace();
			break;
		}
		interrupt_end();
	}
}

#else

void __init check_seccomp(void)
{
}

void enter_seccomp_stub(void)
{
}

void wait_seccomp_stub(struct mm_id *mm_idp)
{
}

void run_seccomp_stub(struct mm_id *mm_idp)
{
}

void userspace_seccomp(struct uml_pt_regs *regs)
{
}

#endif
