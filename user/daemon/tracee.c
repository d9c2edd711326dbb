/* SPDX-License-Identifier: BSD-2-Clause */
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "../lib/util.h"
#include "tracee.h"

#ifndef PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG
#define PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG 0x4210
#endif

#define NS_PER_S	1000000000ULL
#define STOP_TIMEOUT_NS NS_PER_S
#define USER_CS		0x33 /* 64-bit user code */
#define SYSCALL_STOP	(SIGTRAP | 0x80)
#define ALL_SIGNALS	(~0ULL)

uint64_t halo_tracee__now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

int halo_tracee__read(const struct halo_tracee *t, uint64_t addr, void *buf, size_t len)
{
	struct iovec local = {buf, len}, remote = {(void *)addr, len};
	ssize_t n = process_vm_readv(t->pid, &local, 1, &remote, 1, 0);

	return n == (ssize_t)len ? 0 : n < 0 ? -errno : -EFAULT;
}

int halo_tracee__write(const struct halo_tracee *t, uint64_t addr, const void *buf, size_t len)
{
	struct iovec local = {(void *)buf, len}, remote = {(void *)addr, len};
	ssize_t n = process_vm_writev(t->pid, &local, 1, &remote, 1, 0);

	return n == (ssize_t)len ? 0 : n < 0 ? -errno : -EFAULT;
}

/*
 * The thread's next stop, as waitpid() tells it. The caller has SIGCHLD blocked, so none is missed.
 * @deadline_ns 0: a thread that has our registers is waited for however long it takes, since the
 * program would not survive being left alone with them.
 */
static int wait_stop(const struct halo_tracee *t, uint64_t deadline_ns, int *status)
{
	struct timespec pause = {0, 50 * 1000 * 1000};
	sigset_t child;
	pid_t ret;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	for (;;) {
		ret = waitpid(t->tid, status, __WALL | WNOHANG);
		if (ret < 0 && errno != EINTR)
			return -errno;
		if (ret == t->tid)
			return WIFSTOPPED(*status) ? 0 : -ESRCH;
		if (deadline_ns && halo_tracee__now() >= deadline_ns)
			return -ETIMEDOUT;
		sigtimedwait(&child, NULL, &pause);
	}
}

static int stop_event(int status)
{
	return status >> 16;
}

/* Signals that come first are the thread's own: it gets them, and is interrupted once more. */
static int wait_interrupt(struct halo_tracee *t, struct halo_err *err)
{
	uint64_t deadline = halo_tracee__now() + STOP_TIMEOUT_NS;
	int status, ret;

	for (;;) {
		ret = wait_stop(t, deadline, &status);
		if (ret == -ETIMEDOUT)
			return halo_err__set(err, ret, "it did not stop within a second");
		if (ret)
			return halo_err__set(err, ret, "it ended");
		if (stop_event(status) == PTRACE_EVENT_STOP)
			break;
		ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
		ptrace(PTRACE_CONT, t->tid, 0, stop_event(status) ? 0 : WSTOPSIG(status));
	}
	if (WSTOPSIG(status) == SIGTRAP)
		return 0;
	ptrace(PTRACE_DETACH, t->tid, 0, 0);
	return halo_err__set(err, -EBUSY, "it is stopped");
}

static bool kernel_has_rseq(void)
{
	return syscall(SYS_rseq, NULL, 0, 0, 0) < 0 && errno != ENOSYS;
}

/*
 * Inside a restartable sequence the kernel would have to abort it when the thread is diverted, and
 * the abort would be lost with our restoring the registers. A kernel too old to tell (before 5.13)
 * is believed only for a thread in a system call, where such a sequence can't be.
 */
static bool in_rseq(const struct halo_tracee *t)
{
	struct __ptrace_rseq_configuration conf;
	struct {
		uint32_t version, flags;
		uint64_t start_ip, post_commit_offset, abort_ip;
	} cs;
	uint64_t addr;

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, t->tid, sizeof(conf), &conf) < 0)
		return kernel_has_rseq() && (int64_t)t->saved.orig_rax < 0;
	if (!conf.rseq_abi_pointer)
		return false;
	if (halo_tracee__read(t, conf.rseq_abi_pointer + 8, &addr, sizeof(addr)))
		return true;
	if (!addr)
		return false;
	return halo_tracee__read(t, addr, &cs, sizeof(cs)) ||
	       t->saved.rip - cs.start_ip < cs.post_commit_offset;
}

/* System calls of a thread with user dispatch (Wine) may end in a SIGSYS. */
static bool has_user_dispatch(const struct halo_tracee *t)
{
	struct {
		uint64_t mode, selector, offset, len;
	} conf;

	return ptrace(PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG, t->tid, sizeof(conf), &conf) == 0 &&
	       conf.mode != 0;
}

static int check_divertible(struct halo_tracee *t, struct halo_err *err)
{
	uint8_t insn[2];

	if (ptrace(PTRACE_GETREGS, t->tid, 0, &t->saved) ||
	    ptrace(PTRACE_GETSIGMASK, t->tid, sizeof(t->mask), &t->mask))
		return halo_err__set(err, -errno, "cannot read its registers: %m");
	if (t->saved.cs != USER_CS)
		return halo_err__set(err, -ENOEXEC, "it runs 32-bit code");
	if (has_user_dispatch(t))
		return halo_err__set(err, -EACCES, "it has system calls dispatched to itself");
	if (halo_tracee__read(t, t->syscall_addr, insn, sizeof(insn)) || insn[0] != 0x0f ||
	    insn[1] != 0x05)
		return halo_err__set(err, -EBADMSG, "its stub is not where its tables say");
	if (in_rseq(t))
		return halo_err__set(err, -EAGAIN, "it is inside a restartable sequence");
	return 0;
}

int halo_tracee__stop(struct halo_tracee *t, struct halo_err *err)
{
	int ret;

	t->borrowed = false;
	t->owes_stop = false;
	if (ptrace(PTRACE_SEIZE, t->tid, 0, PTRACE_O_TRACESYSGOOD)) {
		ret = halo_err__set(err, -errno, "cannot trace it: %m");
		if (ret == -EPERM)
			halo_err__cause(err, "another tracer has it, or a security module objects");
		return ret;
	}
	if (ptrace(PTRACE_INTERRUPT, t->tid, 0, 0))
		return halo_err__set(err, -errno, "cannot interrupt it: %m");
	ret = wait_interrupt(t, err);
	if (ret)
		return ret;
	t->stopped_at_ns = halo_tracee__now();
	ret = check_divertible(t, err);
	if (ret)
		halo_tracee__release(t);
	return ret;
}

/* On to the next entry to or exit from a system call. */
static int next_syscall_stop(struct halo_tracee *t)
{
	int status, ret;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, t->tid, 0, 0))
			return -errno;
		ret = wait_stop(t, 0, &status);
		if (ret)
			return ret;
		if (WSTOPSIG(status) == SYSCALL_STOP)
			return 0;
		if (stop_event(status) == PTRACE_EVENT_STOP)
			continue; /* others of its group stop: it will, when it is released */
		if (WSTOPSIG(status) != SIGSTOP)
			return -EPROTO; /* a fault: all else is blocked */
		t->owes_stop = true;
	}
}

int halo_tracee__syscall(struct halo_tracee *t, long nr, const uint64_t args[6], int64_t *result)
{
	struct user_regs_struct regs = t->saved;
	uint64_t mask = ALL_SIGNALS;
	int i, ret;

	regs.rip = t->syscall_addr;
	regs.rax = (uint64_t)nr;
	regs.orig_rax = -1ULL;
	regs.rdi = args[0];
	regs.rsi = args[1];
	regs.rdx = args[2];
	regs.r10 = args[3];
	regs.r8 = args[4];
	regs.r9 = args[5];
	if (!t->borrowed && ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(mask), &mask))
		return -errno;
	t->borrowed = true;
	if (ptrace(PTRACE_SETREGS, t->tid, 0, &regs))
		return -errno;
	for (i = 0; i < 2; i++) {
		ret = next_syscall_stop(t);
		if (ret)
			return ret;
	}
	if (ptrace(PTRACE_GETREGS, t->tid, 0, &regs))
		return -errno;
	if (regs.rip != t->syscall_addr + 2)
		return -EPROTO;
	*result = (int64_t)regs.rax;
	return 0;
}

/*
 * Back into the signal code of the kernel, where the thread stood first: there, and only there, it
 * decides whether the interrupted system call begins again. Returns the signal to detach with.
 */
static int restore(struct halo_tracee *t)
{
	int status;

	if (ptrace(PTRACE_SETREGS, t->tid, 0, &t->saved) ||
	    ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(t->mask), &t->mask) ||
	    ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) || ptrace(PTRACE_CONT, t->tid, 0, 0) ||
	    wait_stop(t, 0, &status))
		return 0;
	t->borrowed = false;
	return stop_event(status) ? 0 : WSTOPSIG(status);
}

/* EINTR that was our doing and not a signal's is not for the program to see. */
static void repeat_call(struct halo_tracee *t)
{
	struct user_regs_struct regs = t->saved;

	if ((int64_t)regs.orig_rax < 0 || (int64_t)regs.rax != -EINTR ||
	    !halo_tracee__repeatable((long)regs.orig_rax) || halo_tracee__signalled(t))
		return;
	regs.rax = regs.orig_rax;
	regs.orig_rax = -1ULL;
	regs.rip -= 2;
	ptrace(PTRACE_SETREGS, t->tid, 0, &regs);
}

void halo_tracee__release(struct halo_tracee *t)
{
	int signal = t->borrowed ? restore(t) : 0;

	if (!signal)
		repeat_call(t);
	ptrace(PTRACE_DETACH, t->tid, 0, signal);
	if (t->owes_stop)
		syscall(SYS_tgkill, t->pid, t->tid, SIGSTOP);
}
