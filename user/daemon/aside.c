/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "../lib/util.h"
#include "aside.h"

#define NS_PER_MS 1000000ULL

/* In memory that both processes see; the copy of the caller's context lies behind it. */
struct shared {
	_Alignas(16) int ret;
	bool done;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 * NS_PER_MS + ts.tv_nsec;
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* The daemon's sockets and locks must not outlive it here. @end keeps the daemon waiting. */
static void close_others(const int *keep, size_t n_keep, int end)
{
	int fds[HALO_ASIDE_KEEP + 1], from = 0;
	size_t i;

	for (i = 0; i < n_keep; i++)
		fds[i] = keep[i];
	fds[n_keep] = end;
	qsort(fds, n_keep + 1, sizeof(fds[0]), by_number);
	for (i = 0; i <= n_keep; i++) {
		if (fds[i] > from)
			close_range((unsigned int)from, (unsigned int)fds[i] - 1, 0);
		from = fds[i] + 1;
	}
	close_range((unsigned int)from, ~0U, 0);
}

static void __attribute__((noreturn)) work(int (*fn)(void *ctx), struct shared *shared)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signal(SIGCHLD, SIG_DFL);
	setsid();
	shared->ret = fn(shared + 1);
	__atomic_store_n(&shared->done, true, __ATOMIC_RELEASE);
	_exit(0);
}

/* Forked twice, so that whoever adopts orphans reaps it, late or not. *end: closed when it ends. */
static int start(int (*fn)(void *ctx), struct shared *shared, const int *keep, size_t n_keep,
		 int *end, struct halo_err *err)
{
	int pipe[2], failed = 1;
	pid_t pid;

	if (pipe2(pipe, O_CLOEXEC))
		return halo_err__set(err, -errno, "cannot make a pipe: %m");
	pid = fork();
	if (pid == 0) {
		pid = fork();
		if (pid == 0) {
			close_others(keep, n_keep, pipe[1]);
			work(fn, shared);
		}
		_exit(pid < 0);
	}
	close(pipe[1]);
	*end = pipe[0];
	if (pid < 0)
		return halo_err__set(err, -errno, "cannot fork: %m");
	while (waitpid(pid, &failed, 0) < 0 && errno == EINTR)
		;
	return failed ? halo_err__set(err, -EAGAIN, "cannot fork") : 0;
}

int halo_aside__start(int (*fn)(void *ctx), const void *ctx, size_t size, const int *keep,
		      size_t n_keep, struct halo_aside *aside, struct halo_err *err)
{
	struct shared *shared;
	int ret;

	if (n_keep > HALO_ASIDE_KEEP)
		return halo_err__set(err, -EINVAL, "too many descriptors to keep");
	shared = mmap(NULL, sizeof(*shared) + size, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return halo_err__set(err, -errno, "out of memory");
	memcpy(shared + 1, ctx, size);
	*aside = (struct halo_aside){.shared = shared, .size = size, .end = -1};
	ret = start(fn, shared, keep, n_keep, &aside->end, err);
	if (ret) {
		zclose(&aside->end);
		munmap(shared, sizeof(*shared) + size);
	}
	return ret;
}

bool halo_aside__wait(const struct halo_aside *aside, unsigned int ms)
{
	uint64_t begin = now_ns(), deadline = begin + ms * NS_PER_MS, now = begin;
	struct pollfd poll_end = {.fd = aside->end, .events = POLLIN};

	do {
		if (poll(&poll_end, 1, (int)((deadline - now + NS_PER_MS - 1) / NS_PER_MS)) == 1)
			return true;
		now = now_ns();
	} while (now < deadline);
	return false;
}

int halo_aside__finish(struct halo_aside *aside, void *ctx, struct halo_err *err)
{
	struct shared *shared = aside->shared;
	int ret;

	if (__atomic_load_n(&shared->done, __ATOMIC_ACQUIRE)) {
		memcpy(ctx, shared + 1, aside->size);
		ret = shared->ret;
	} else {
		ret = halo_err__set(err, -ETIME, "it keeps whoever examines it waiting");
	}
	munmap(shared, sizeof(*shared) + aside->size);
	zclose(&aside->end);
	return ret;
}

int halo_aside__run(int (*fn)(void *ctx), void *ctx, size_t size, const int *keep, size_t n_keep,
		    unsigned int ms, struct halo_err *err)
{
	struct halo_aside aside;
	int ret = halo_aside__start(fn, ctx, size, keep, n_keep, &aside, err);

	if (ret)
		return ret;
	halo_aside__wait(&aside, ms);
	return halo_aside__finish(&aside, ctx, err);
}
