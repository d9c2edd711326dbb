/* SPDX-License-Identifier: BSD-2-Clause */
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
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
#define WAIT_NS		(50 * 1000 * 1000ULL) /* that a thread waits to be put back */
#define LOOK_NS		20000		      /* between looks whether it waits */
#define USER_CS		0x33		      /* 64-bit user code */
#define SYSCALL_STOP	(SIGTRAP | 0x80)
#define ALL_SIGNALS	(~0ULL)

/* Flags of a processor in user mode. */
#define FLAG_TF			 (1U << 8) /* single steps */
#define FLAG_DF			 (1U << 10)
#define FLAG_RF			 (1U << 16)

#define SCHED_RESET_ON_FORK_FLAG 1

/* How a system call that was interrupted ends, as the kernel sees it. */
#define ERESTARTSYS	      512
#define ERESTARTNOINTR	      513
#define ERESTARTNOHAND	      514
#define ERESTART_RESTARTBLOCK 516

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

/* The thread's next stop, as waitpid() tells it. The caller has SIGCHLD blocked, so none is missed. */
static int wait_stop(const struct halo_tracee *t, uint64_t deadline_ns, int *status)
{
	struct timespec pause = {0, 50 * 1000 * 1000};
	uint64_t patience = halo_tracee__now() + HALO_SPIN_NS;
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
		if (halo_tracee__now() >= deadline_ns)
			return -ETIMEDOUT;
		if (halo_tracee__now() >= patience)
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
	if (ptrace(PTRACE_GETREGS, t->tid, 0, &t->saved) ||
	    ptrace(PTRACE_GETSIGMASK, t->tid, sizeof(t->mask), &t->mask))
		return halo_err__set(err, -errno, "cannot read its registers: %m");
	if (t->saved.cs != USER_CS)
		return halo_err__set(err, -ENOEXEC, "it runs 32-bit code");
	if (has_user_dispatch(t))
		return halo_err__set(err, -EACCES, "it has system calls dispatched to itself");
	if (t->saved.eflags & FLAG_TF)
		return halo_err__set(err, -EAGAIN, "it is being stepped through");
	if (in_rseq(t))
		return halo_err__set(err, -EAGAIN, "it is inside a restartable sequence");
	return 0;
}

int halo_tracee__stop(struct halo_tracee *t, struct halo_err *err)
{
	int ret;

	t->owes_stop = false;
	if (ptrace(PTRACE_SEIZE, t->tid, 0, PTRACE_O_TRACESYSGOOD)) {
		ret = halo_err__set(err, -errno, "cannot trace it: %m");
		if (ret == -EPERM)
			halo_err__cause(err, "another tracer has it, or a security module objects");
		return ret;
	}
	t->seized = true;
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

/*
 * How the thread goes on if it goes back by itself: an interrupted system call begins again, as if no
 * signal had come meanwhile.
 */
static void describe_return(const struct halo_tracee *t, struct halo_scratch *s)
{
	const struct user_regs_struct *r = &t->saved;
	bool again = false;
	uint64_t rax = r->rax;

	if ((int64_t)r->orig_rax >= 0) {
		switch (-(int64_t)r->rax) {
		case ERESTARTSYS:
		case ERESTARTNOINTR:
		case ERESTARTNOHAND:
			again = true;
			rax = r->orig_rax;
			break;
		case ERESTART_RESTARTBLOCK:
			again = true;
			rax = SYS_restart_syscall;
			break;
		case EINTR:
			again = halo_tracee__repeatable((long)r->orig_rax);
			rax = again ? r->orig_rax : r->rax;
			break;
		}
	}
	*s = (struct halo_scratch){
		.regs = {r->r15, r->r14, r->r13, r->r12, r->rbp, r->rbx, r->r11, r->r10, r->r9,
			 r->r8, rax, r->rcx, r->rdx, r->rsi, r->rdi},
		.rsp = r->rsp,
		.rip = again ? r->rip - 2 : r->rip,
		.flags = r->eflags,
		.mask = t->mask,
		.wait = {0, t->in_call ? WAIT_NS : 0},
		.busy = (uint32_t)t->tid,
	};
	if (t->hurry) {
		memcpy(&s->sched, &t->sched, sizeof(s->sched));
		/* Who may not raise priorities may not clear this either. */
		s->sched.flags |= SCHED_RESET_ON_FORK_FLAG;
	}
}

/* A thread that takes no part in it: others of its group stop, or it is sent SIGSTOP. */
static int pass_by(struct halo_tracee *t, int status, int request)
{
	if (!stop_event(status)) {
		if (WSTOPSIG(status) != SIGSTOP)
			return -EPROTO; /* a fault: all else is blocked */
		t->owes_stop = true;
	}
	return ptrace(request, t->tid, 0, 0) ? -errno : 0;
}

/* On to the next entry to or exit from a system call. */
static int next_syscall_stop(struct halo_tracee *t)
{
	uint64_t deadline = halo_tracee__now() + STOP_TIMEOUT_NS;
	int status, ret;

	ret = ptrace(PTRACE_SYSCALL, t->tid, 0, 0) ? -errno : 0;
	while (ret == 0) {
		ret = wait_stop(t, deadline, &status);
		if (ret)
			return ret;
		if (WSTOPSIG(status) == SYSCALL_STOP)
			return 0;
		ret = pass_by(t, status, PTRACE_SYSCALL);
	}
	return ret;
}

/*
 * A thread that has used up its share would wait for its turn at every step. It falls back to what it
 * was by itself; the program could have changed that code, so halo_tracee__put_back() sees to it too.
 */
static void speed_up(const struct halo_tracee *t)
{
	struct sched_param param = {.sched_priority = 1};

	if (t->hurry)
		sched_setscheduler(t->tid, SCHED_FIFO | SCHED_RESET_ON_FORK, &param);
}

static void slow_down(const struct halo_tracee *t)
{
	if (t->hurry)
		syscall(SYS_sched_setattr, t->tid, &t->sched, 0);
}

void halo_tracee__hurry(struct halo_tracee *t)
{
	struct sched_param param = {.sched_priority = 2};

	t->hurry = false;
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param)) {
		setpriority(PRIO_PROCESS, 0, -20);
		return;
	}
	t->hurry = syscall(SYS_sched_getattr, t->tid, &t->sched, sizeof(t->sched), 0) == 0 &&
		   (t->sched.policy == SCHED_OTHER || t->sched.policy == SCHED_BATCH);
}

/*
 * Registers first, then signals: with the registers alone the thread blocks signals itself, but
 * nothing would unblock them for it otherwise.
 */
static int set_out(struct halo_tracee *t)
{
	struct user_regs_struct regs = t->saved;
	uint64_t mask = ALL_SIGNALS;

	regs.rip = t->code;
	regs.rax = SYS_socketpair;
	regs.orig_rax = -1ULL;
	regs.rdi = AF_UNIX;
	regs.rsi = SOCK_SEQPACKET | SOCK_CLOEXEC;
	regs.rdx = 0;
	regs.r10 = t->scratch + offsetof(struct halo_scratch, pair);
	regs.eflags &= ~(uint64_t)(FLAG_DF | FLAG_RF);
	if (ptrace(PTRACE_SETREGS, t->tid, 0, &regs) ||
	    ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(mask), &mask))
		return -errno;
	return 0;
}

int halo_tracee__divert(struct halo_tracee *t, int pair[2], struct halo_err *err)
{
	struct user_regs_struct regs;
	struct halo_scratch s;
	int ret, i;

	t->in_call = (int64_t)t->saved.orig_rax >= 0;
	describe_return(t, &s);
	ret = halo_tracee__write(t, t->scratch, &s, offsetof(struct halo_scratch, stack));
	if (ret) {
		halo_tracee__release(t);
		return halo_err__set(err, ret, "cannot write its memory: %s", strerror(-ret));
	}
	ret = set_out(t);
	speed_up(t);
	for (i = 0; i < 2 && ret == 0; i++)
		ret = next_syscall_stop(t);
	if (ret == 0 && ptrace(PTRACE_GETREGS, t->tid, 0, &regs))
		ret = -errno;
	if (ret)
		return halo_err__set(err, ret, "it does not do as it is told: %s", strerror(-ret));
	ret = (int)regs.rax;
	if (ret == 0)
		ret = halo_tracee__read(t, t->scratch + offsetof(struct halo_scratch, pair), pair,
					2 * sizeof(pair[0]));
	return ret ? halo_err__set(err, ret, "cannot make a socket in it: %s", strerror(-ret)) : 0;
}

static void detach(struct halo_tracee *t, int signal)
{
	ptrace(PTRACE_DETACH, t->tid, 0, signal);
	t->seized = false;
	if (t->owes_stop)
		syscall(SYS_tgkill, t->pid, t->tid, SIGSTOP);
	t->owes_stop = false;
}

void halo_tracee__let_go(struct halo_tracee *t)
{
	if (t->seized && t->in_call)
		ptrace(PTRACE_CONT, t->tid, 0, 0);
	else if (t->seized)
		detach(t, 0);
}

/*
 * EINTR that was our doing and not a signal's is not for the program to see. That goes for a call
 * that the thread began again by itself, too.
 */
static void repeat_call(const struct halo_tracee *t, struct user_regs_struct regs)
{
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
	if (!t->seized)
		return;
	repeat_call(t, t->saved);
	detach(t, 0);
}

static bool in_code(const struct halo_tracee *t, const struct user_regs_struct *r)
{
	return r->rip - t->code < HALO_ATTACH_CODE_SIZE;
}

static bool in_wait(const struct halo_tracee *t, const struct user_regs_struct *r)
{
	return in_code(t, r) && r->orig_rax == SYS_ppoll;
}

/* Has the thread, at this stop, been let go? */
static bool put_back_from(struct halo_tracee *t, int status)
{
	struct user_regs_struct regs;
	int signal = stop_event(status) ? 0 : WSTOPSIG(status);

	if (signal == SIGSTOP) {
		pass_by(t, status, PTRACE_CONT);
		return false;
	}
	if (ptrace(PTRACE_GETREGS, t->tid, 0, &regs)) {
		detach(t, signal);
		return true;
	}
	/*
	 * Inside the signal code of the kernel, as where the thread stood first: there, and only
	 * there, it decides whether the interrupted system call begins again. Signals come only
	 * when the stub has unblocked them again.
	 */
	if (in_wait(t, &regs) || (signal && in_code(t, &regs))) {
		ptrace(PTRACE_SETREGS, t->tid, 0, &t->saved);
		if (!signal)
			repeat_call(t, t->saved);
		detach(t, signal);
		return true;
	}
	if (in_code(t, &regs) || regs.rsp - t->scratch <= HALO_SCRATCH_SIZE) {
		ptrace(PTRACE_CONT, t->tid, 0, signal);
		return false;
	}
	if (!signal)
		repeat_call(t, regs); /* it had waited long enough, and went back by itself */
	detach(t, signal);
	return true;
}

void halo_tracee__put_back(struct halo_tracee *t)
{
	uint64_t deadline = halo_tracee__now() + STOP_TIMEOUT_NS;
	struct timespec pause = {0, LOOK_NS};
	int status;

	while (t->seized && !ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) &&
	       !wait_stop(t, deadline, &status) && !put_back_from(t, status))
		nanosleep(&pause, NULL);
	slow_down(t);
}

void halo_tracee__tend(struct halo_tracee *t)
{
	int status;

	if (t->seized && waitpid(t->tid, &status, __WALL | WNOHANG) == t->tid &&
	    WIFSTOPPED(status) && pass_by(t, status, PTRACE_CONT))
		put_back_from(t, status);
}
