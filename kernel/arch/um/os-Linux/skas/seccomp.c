// SPDX-License-Identifier: GPL-2.0
/*
 * Run programs without ptrace. A seccomp filter turns their system calls into
 * signals; faults are signals anyway. The signal handler in the stub page stops
 * with a system call that the filter reports to the kernel through a seccomp
 * notification, and continues when the kernel replies. The signal frame holds
 * the program's registers. Entering and leaving the kernel takes three system
 * calls of the host instead of a dozen.
 *
 * A program may jump to any instruction of the stub with any register contents,
 * so the stub is no more trusted than the program:
 *
 * - The thread that runs programs may stop, return from a signal, and set the
 *   FS and GS bases. Any other system call from the stub page kills it.
 * - Memory is changed by a second thread of the same process, which only runs
 *   stub_memory_thread(), as commanded by a page that is read-only to programs.
 * - Programs do not run while the kernel does: the host has stopped them, which
 *   does not depend on their cooperation. Their registers and signal stack are
 *   checked before use, and do not change meanwhile.
 */

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <asm/prctl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#if __GLIBC_PREREQ(2, 35)
#include <sys/rseq.h>
#endif
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <linux/audit.h>
#include <linux/filter.h>
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

#define RSEQ_MIN_LEN 32
#define RSEQ_MAX_LEN 1024

int using_seccomp;

/*
 * unregister_rseq() - withdraw memory that libc registered with the host
 *
 * A static libc has it where programs have theirs. The host ends a process that
 * gets a signal after that memory has been unmapped.
 */
void unregister_rseq(void)
{
#ifdef RSEQ_SIG
	char *area = (char *)__builtin_thread_pointer() + __rseq_offset;
	unsigned int length;

	/* libc does not report the length that it registered. */
	for (length = RSEQ_MIN_LEN; length <= RSEQ_MAX_LEN;
	     length += RSEQ_MIN_LEN)
		if (!syscall(__NR_rseq, area, length, RSEQ_FLAG_UNREGISTER,
			     RSEQ_SIG))
			return;
#endif
}

#ifdef __x86_64__

/* SA_RESTORER and the kernel's struct sigaction are not in libc's headers. */
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

/* End of the host's user address space */
#define HOST_END 0x7ffffffff000UL

/* Since Linux 6.11 a listener is notified when the last filtered task exits. */
#define ENDS_ARE_TOLD(major, minor) ((major) * 1000 + (minor) >= 6011)
#define ASK_EVERY_MS 100

static int seccomp_off;
static int ends_are_told;

static int __init seccomp_param(char *line, int *add)
{
	*add = 0;
	seccomp_off = !strcmp(line, "off");
	return 0;
}

__uml_setup("seccomp=", seccomp_param,
	    "seccomp=off\n"
	    "    Use ptrace() to run programs, even if the host supports seccomp.\n\n"
);

static int install_filter(struct sock_filter *filter, unsigned short length)
{
	struct sock_fprog program = { length, filter };

	return syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER,
		       SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

static int send_answer(struct stub_thread *thread, long value)
{
	struct seccomp_notif_resp answer = { .id = thread->id, .val = value };
	int err;

	CATCH_EINTR(err = ioctl(thread->fd, SECCOMP_IOCTL_NOTIF_SEND, &answer));
	return err ? -errno : 0;
}

static bool has_ended(int pid, int fd, int wait_ms)
{
	struct pollfd listener = { .fd = fd, .events = POLLIN };
	siginfo_t info = { .si_pid = 0 };

	if (poll(&listener, 1, wait_ms) > 0)
		return listener.revents & ~POLLIN;

	/* Whether a child has exited or does not exist */
	return waitid(P_PID, pid, &info,
		      WEXITED | WNOHANG | WNOWAIT | __WALL) || info.si_pid;
}

/* Wait until a thread stops; -ESRCH if its process has exited. */
static int wait_for(int pid, struct stub_thread *thread)
{
	struct seccomp_notif notif;

	do {
		while (!ends_are_told) {
			struct pollfd listener = {
				.fd = thread->fd,
				.events = POLLIN,
			};

			if (poll(&listener, 1, ASK_EVERY_MS) > 0 &&
			    listener.revents == POLLIN)
				break;
			if (has_ended(pid, thread->fd, 0))
				return -ESRCH;
		}

		memset(&notif, 0, sizeof(notif));
		if (!ioctl(thread->fd, SECCOMP_IOCTL_NOTIF_RECV, &notif)) {
			thread->id = notif.id;
			memcpy(thread->args, notif.data.args,
			       sizeof(thread->args));
			return 0;
		}
	} while (errno == EINTR ||
		 (errno == ENOENT && !has_ended(pid, thread->fd, 0)));

	return -ESRCH;
}

/* Resume a stopped thread, and wait until it stops again. */
static int run(int pid, struct stub_thread *thread, long value)
{
	int err;

	/*
	 * If the host freezes or stops its processes, the notification is
	 * withdrawn and the system call is restarted later.
	 */
	while ((err = send_answer(thread, value)) == -ENOENT) {
		struct stub_thread before = *thread;

		err = wait_for(pid, thread);
		if (err)
			return err;
		if (memcmp(before.args, thread->args, sizeof(before.args)))
			return -EPROTO;
	}
	return err ?: wait_for(pid, thread);
}

/* Shared memory for the result of the trial process */
struct trial {
	int fd, ready;
};

static int try_as_child(void *p)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, STUB_STOP_NR, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct trial *trial = p;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	trial->fd = install_filter(filter, ARRAY_SIZE(filter));
	__atomic_store_n(&trial->ready, 1, __ATOMIC_SEQ_CST);
	_exit(syscall(STUB_STOP_NR) != STUB_SET_BASES);
}

/* Whether seccomp notifications work as start_seccomp_stub() needs them */
static bool __init can_listen(void)
{
	unsigned long size = 4 * UM_KERN_PAGE_SIZE;
	struct stub_thread thread;
	struct trial *trial;
	int pid, status = -1;

	trial = mmap(NULL, size, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (trial == MAP_FAILED)
		return false;
	pid = clone(try_as_child, (void *)trial + size, CLONE_FILES | SIGCHLD,
		    trial);
	if (pid > 0) {
		while (!__atomic_load_n(&trial->ready, __ATOMIC_SEQ_CST) &&
		       waitpid(pid, &status, WNOHANG) != pid)
			sched_yield();
		thread.fd = trial->fd;
		if (trial->ready && thread.fd >= 0) {
			if (wait_for(pid, &thread) ||
			    send_answer(&thread, STUB_SET_BASES))
				kill(pid, SIGKILL);
			close(thread.fd);
		}
		if (trial->ready)
			CATCH_EINTR(waitpid(pid, &status, 0));
	}
	munmap(trial, size);
	return !status;
}

/* Report the mode at boot; both modes give the same virtual time. */
void __init check_seccomp(void)
{
	struct seccomp_notif_sizes sizes = { .seccomp_notif = 0 };
	int major = 0, minor = 0;
	struct rlimit files;
	struct utsname host;

	if (!uname(&host))
		sscanf(host.release, "%d.%d", &major, &minor);
	ends_are_told = ENDS_ARE_TOLD(major, minor);

	using_seccomp = !seccomp_off &&
			!syscall(__NR_seccomp, SECCOMP_GET_NOTIF_SIZES, 0,
				 &sizes) &&
			sizes.seccomp_notif == sizeof(struct seccomp_notif) &&
			can_listen();
	os_info("Programs enter the kernel by %s\n",
		using_seccomp ? "seccomp" : "ptrace");
	if (!using_seccomp)
		return;

	/* Each program needs two. */
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
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
	unsigned int i;

	/* Signals that terminate the kernel must not run its handlers here. */
	signal(SIGINT, SIG_DFL);
	signal(SIGHUP, SIG_DFL);

	for (i = 0; i < ARRAY_SIZE(signals); i++)
		if (syscall(__NR_rt_sigaction, signals[i], &action, NULL,
			    sizeof(action.mask)))
			_exit(1);
}

/*
 * Turn the program's system calls into signals. The stub may stop, return from
 * a signal, and set the FS and GS bases.
 */
static int filter_program(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, instruction_pointer) + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, STUB_CODE >> 32, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, instruction_pointer)),
		BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, (unsigned int)STUB_CODE),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, UM_KERN_PAGE_SIZE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),

		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 7),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, STUB_STOP_NR, 6, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_rt_sigreturn, 6, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_arch_prctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH_SET_FS, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH_SET_GS, 2, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return install_filter(filter, ARRAY_SIZE(filter));
}

/* Only the system calls of stub_memory_thread() */
static int filter_memory(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, instruction_pointer) + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, STUB_CODE >> 32, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, instruction_pointer)),
		BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, (unsigned int)STUB_CODE),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, UM_KERN_PAGE_SIZE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),

		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, STUB_STOP_NR, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mmap, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_munmap, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mprotect, 2, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return install_filter(filter, ARRAY_SIZE(filter));
}

static void tell_listener(struct stub_data *data, struct stub_thread *thread,
			  int fd)
{
	if (fd < 0)
		_exit(1);
	thread->fd = fd;
	__atomic_add_fetch(&data->listeners, 1, __ATOMIC_SEQ_CST);
}

/*
 * Does not return: it stops, and continues with the registers of the first
 * program.
 */
static int run_programs(void *p)
{
	struct stub_data *data = p;
	sigset_t none;

	set_sigstack((void *)STUB_DATA + offsetof(struct stub_data, sigstack),
		     sizeof(data->sigstack));
	sigemptyset(&none);
	syscall(__NR_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(long));
	tell_listener(data, &data->program, filter_program());
	syscall(__NR_getpid);
	_exit(1);
}

/**
 * enter_seccomp_stub() - turn the calling process into one that runs a program
 * @data: stub data of the program, at its address in the kernel
 *
 * The stub's pages have to be mapped. Does not return.
 */
void enter_seccomp_stub(struct stub_data *data)
{
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
			  CLONE_THREAD | CLONE_SYSVSEM;
	struct rlimit no_core = { .rlim_cur = 0 };
	sigset_t all;
	void *stack;

	setrlimit(RLIMIT_CORE, &no_core);
	install_handlers();
	sigfillset(&all);
	syscall(__NR_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(long));

	stack = mmap(NULL, UM_KERN_PAGE_SIZE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    mprotect((void *)STUB_DATA, offsetof(struct stub_data, sigstack),
		     PROT_READ) ||
	    clone(run_programs, stack + UM_KERN_PAGE_SIZE, flags, data) < 0)
		_exit(1);

	tell_listener(data, &data->memory, filter_memory());
	asm volatile("jmp *%0"
		     : : "r" (in_stub(stub_memory_thread)), "b" (STUB_DATA));
	__builtin_unreachable();
}

/**
 * start_seccomp_stub() - wait until the process of a program is ready
 * @mm_idp: the program's memory
 *
 * Returns 0, or -EAGAIN if the process could not be set up, most likely for
 * lack of file descriptors.
 */
int start_seccomp_stub(struct mm_id *mm_idp)
{
	struct stub_data *data = (void *)mm_idp->stack;
	siginfo_t info = { .si_pid = 0 };

	while (__atomic_load_n(&data->listeners, __ATOMIC_SEQ_CST) < 2) {
		if (waitid(P_PID, mm_idp->pid, &info,
			   WEXITED | WNOHANG | WNOWAIT | __WALL) || info.si_pid)
			goto fail;
		sched_yield();
	}
	mm_idp->syscall_data_len = 0;

	/* Not valid in any program, so that those of the first one are set. */
	data->fs_base = ~0UL;
	data->gs_base = ~0UL;

	if (wait_for(mm_idp->pid, &data->program) ||
	    wait_for(mm_idp->pid, &data->memory))
		goto fail;

	/* Unmap the kernel's own memory */
	unmap(mm_idp, 0, STUB_START);
	unmap(mm_idp, STUB_END, HOST_END - STUB_END);
	return 0;

fail:
	close_seccomp_stub(data);
	return -EAGAIN;
}

/**
 * close_seccomp_stub() - release the resources of a process that has exited
 * @data: stub data of the program
 */
void close_seccomp_stub(struct stub_data *data)
{
	/* 0 if listening failed */
	if (data->program.fd > 0)
		close(data->program.fd);
	if (data->memory.fd > 0)
		close(data->memory.fd);
}

/**
 * change_seccomp_memory() - apply pending changes to a stopped program's memory
 * @mm_idp: the program's memory
 *
 * Returns 0 or an error, which is also stored in syscall_data_len.
 */
int change_seccomp_memory(struct mm_id *mm_idp)
{
	struct stub_data *data = (void *)mm_idp->stack;
	unsigned long *args = data->memory.args;
	int err;

	data->syscall_data_len = mm_idp->syscall_data_len;
	err = run(mm_idp->pid, &data->memory, 0);
	if (!err && args[STOP_RESULT]) {
		err = args[STOP_RESULT];
		data->err = err;
		data->syscall_data_len = args[STOP_DONE];
		syscall_stub_dump_error(mm_idp);
	}
	mm_idp->syscall_data_len = err;
	return err;
}

static int run_program(struct uml_pt_regs *regs, siginfo_t *si,
		       struct mm_id *mm_idp)
{
	struct stub_data *data = (void *)mm_idp->stack;
	int err, todo;

	current_mm_sync();
	err = syscall_stub_flush(mm_idp);
	if (err)
		return err;

	todo = put_stub_regs(regs, data);
	if (todo < 0)
		return todo;

	err = run(mm_idp->pid, &data->program, todo);
	if (err)
		return err;

	regs->is_user = 1;
	return get_stub_regs(regs, si, data) ? 0 : -EFAULT;
}

/**
 * userspace_seccomp() - userspace() without ptrace; does not return
 * @regs: registers of the current task
 */
void userspace_seccomp(struct uml_pt_regs *regs)
{
	while (1) {
		struct mm_id *mm_idp = current_mm_id();
		struct stub_data *data = (void *)mm_idp->stack;
		siginfo_t si;
		int err, sig;

		time_travel_print_bc_msg();

		err = run_program(regs, &si, mm_idp);
		if (err)
			fail_seccomp_program(err);

		UPT_SYSCALL_NR(regs) = -1; /* Assume: It's not a syscall */
		sig = data->program.args[STOP_SIGNAL];

		switch (sig) {
		case SIGSYS:
			handle_syscall(regs);
			break;
		case SIGSEGV:
		case SIGTRAP:
			(*sig_info[sig])(sig, (struct siginfo *)&si, regs);
			break;
		case SIGALRM:
			break;
		case SIGILL:
		case SIGBUS:
		case SIGFPE:
			block_signals_trace();
			(*sig_info[sig])(sig, (struct siginfo *)&si, regs);
			unblock_signals_trace();
			break;
		default:
			fail_seccomp_program(-EPROTO);
		}
		interrupt_end();
	}
}

#else

void __init check_seccomp(void)
{
}

void enter_seccomp_stub(struct stub_data *data)
{
}

int start_seccomp_stub(struct mm_id *mm_idp)
{
	return -EINVAL;
}

void close_seccomp_stub(struct stub_data *data)
{
}

int change_seccomp_memory(struct mm_id *mm_idp)
{
	return -EINVAL;
}

void userspace_seccomp(struct uml_pt_regs *regs)
{
}

#endif
