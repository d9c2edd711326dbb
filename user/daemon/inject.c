/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "../lib/util.h"
#include "inject.h"

/*
 * A process of its own traces the program, for two reasons. When it ends, the kernel detaches from
 * a thread that never stopped, which nothing else can. And it lives on when the daemon dies: a
 * thread that is left alone with our registers kills its program. So nothing that can be blocked
 * stops the injecting process, it has no parent to be killed with, and the daemon never kills it.
 * What remains is a SIGKILL to it within the fraction of a millisecond that an attach takes.
 */

#define WAIT_MS	 5000 /* that the daemon waits for an attach */
#define RETRIES	 20   /* when the thread is inside a restartable sequence */
#define RETRY_NS 200000

/* Shared between the daemon and the injecting process. */
struct outcome {
	bool done;
	int ret;
	unsigned int stopped_us;
	struct halo_err err;
};

static int stop_thread(struct halo_tracee *t, struct halo_err *err)
{
	struct timespec pause = {0, RETRY_NS};
	int i, ret;

	for (i = 0; i < RETRIES; i++) {
		ret = halo_tracee__pick(t, err);
		if (ret == 0)
			ret = halo_tracee__stop(t, err);
		if (ret != -EAGAIN)
			break;
		nanosleep(&pause, NULL);
	}
	return ret;
}

static int attach(struct halo_injection *inj, struct outcome *out)
{
	struct halo_tracee *t = &inj->tracee;
	int ret;

	inj->pidfd = (int)syscall(SYS_pidfd_open, t->pid, 0);
	if (inj->pidfd < 0)
		return halo_err__set(&out->err, -errno, "cannot open it: %m");
	ret = stop_thread(t, &out->err);
	if (ret)
		return ret;
	ret = halo_inject__map(inj, &out->err);
	halo_tracee__release(t);
	out->stopped_us = (unsigned int)((halo_tracee__now() - t->stopped_at_ns) / 1000);
	return ret ? ret : halo_inject__check_after(inj, &out->err);
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* The daemon's sockets and locks must not outlive it here. @end keeps the daemon waiting. */
static void close_others(const struct halo_injection *inj, int end)
{
	int keep[HALO_MAP_COUNT + 1], from = 0;
	size_t i;

	memcpy(keep, inj->fds, sizeof(inj->fds));
	keep[HALO_MAP_COUNT] = end;
	qsort(keep, ARRAY_SIZE(keep), sizeof(keep[0]), by_number);
	for (i = 0; i < ARRAY_SIZE(keep); i++) {
		if (keep[i] > from)
			close_range((unsigned int)from, (unsigned int)keep[i] - 1, 0);
		from = keep[i] + 1;
	}
	close_range((unsigned int)from, ~0U, 0);
}

static void __attribute__((noreturn))
injecting_process(struct halo_injection *inj, struct outcome *out, int end)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signal(SIGCHLD, SIG_DFL);
	setsid();
	close_others(inj, end);
	out->ret = attach(inj, out);
	__atomic_store_n(&out->done, true, __ATOMIC_RELEASE);
	_exit(0);
}

/* Forked twice, so that whoever adopts orphans reaps it, late or not. *end: closed when it ends. */
static int start(struct halo_injection *inj, struct outcome *out, int *end, struct halo_err *err)
{
	int pipe[2];
	pid_t pid;

	if (pipe2(pipe, O_CLOEXEC))
		return halo_err__set(err, -errno, "cannot make a pipe: %m");
	pid = fork();
	if (pid == 0) {
		pid = fork();
		if (pid == 0)
			injecting_process(inj, out, pipe[1]);
		_exit(pid < 0);
	}
	close(pipe[1]);
	*end = pipe[0];
	if (pid < 0)
		return halo_err__set(err, -errno, "cannot fork: %m");
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return 0;
}

static int wait_end(int end, const struct outcome *out, struct halo_err *err)
{
	uint64_t deadline = halo_tracee__now() + WAIT_MS * 1000000ULL, now;
	struct pollfd poll_end = {.fd = end, .events = POLLIN};

	while ((now = halo_tracee__now()) < deadline)
		if (poll(&poll_end, 1, (int)((deadline - now) / 1000000) + 1) == 1)
			break;
	if (!__atomic_load_n(&out->done, __ATOMIC_ACQUIRE))
		return halo_err__set(err, -ETIMEDOUT, "the attempt to attach did not end in time");
	if (out->ret && err)
		*err = out->err;
	return out->ret;
}

static int run(struct halo_injection *inj, unsigned int *stopped_us, struct halo_err *err)
{
	__cleanup_fd int end = -1;
	struct outcome *out = mmap(NULL, sizeof(*out), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ret;

	if (out == MAP_FAILED)
		return halo_err__set(err, -errno, "out of memory");
	ret = start(inj, out, &end, err);
	if (ret == 0)
		ret = wait_end(end, out, err);
	*stopped_us = out->stopped_us;
	munmap(out, sizeof(*out));
	return ret;
}

int halo_inject__attach(pid_t pid, const struct halo_prepared *p, const struct halo_layout *layout,
			struct halo_family *f, struct halo_arena *arena, unsigned int *stopped_us,
			struct halo_err *err)
{
	struct halo_injection inj = {
		.tracee =
			{
				.pid = pid,
				.syscall_addr = layout->bias + p->stub.syscall,
			},
		.scratch = layout->bias + p->stub.scratch,
		.pidfd = -1,
	};
	int ret, i;

	*stopped_us = 0;
	if (!p->has_stub)
		return halo_err__set(err, -ENODATA, "the program has no stub");
	ret = halo_family__offer(f, arena, &inj.offer, inj.fds, err);
	if (ret)
		return ret;
	ret = halo_inject__check_before(pid, f, &inj.offer, err);
	if (ret == 0)
		ret = run(&inj, stopped_us, err);
	for (i = 0; i < HALO_MAP_COUNT; i++)
		zclose(&inj.fds[i]);
	return ret ? halo_err__wrap(err, ret, "cannot attach process %d", pid) : 0;
}
