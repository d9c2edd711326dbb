/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "../lib/util.h"
#include "aside.h"
#include "inject.h"

/*
 * A process of its own traces the program: when it ends, the kernel detaches from a thread that never
 * stopped, which nothing else can. It may end at any time: see tracee.h.
 */

#define RETRIES	 20 /* when the thread is inside a restartable sequence */
#define RETRY_NS 200000

struct halo_attempt {
	struct halo_injection inj;
	const struct halo_family *family;
	unsigned int stopped_us;
	struct halo_err err;
	struct halo_aside aside; /* of no use to the process aside */
};

static int stop_thread(struct halo_tracee *t, struct halo_err *err)
{
	struct timespec pause = {0, RETRY_NS};
	int i, ret;

	for (i = 0; i < RETRIES; i++) {
		ret = halo_tracee__pick(t, err);
		if (ret)
			break;
		halo_tracee__hurry(t);
		ret = halo_tracee__stop(t, err);
		if (ret != -EAGAIN)
			break;
		nanosleep(&pause, NULL);
	}
	return ret;
}

/* The thread is stopped, and on its own again when this returns. */
static int use_thread(struct halo_injection *inj, struct halo_err *err)
{
	struct halo_tracee *t = &inj->tracee;
	__cleanup_fd int socket = -1;
	int pair[2], ret;

	ret = halo_tracee__divert(t, pair, err);
	if (ret == 0)
		ret = halo_inject__offer(inj, pair, &socket, err);
	halo_tracee__let_go(t);
	if (ret == 0)
		ret = halo_inject__answer(inj, socket, err);
	halo_tracee__put_back(t);
	return ret;
}

static int attach(void *ctx)
{
	struct halo_attempt *a = ctx;
	struct halo_injection *inj = &a->inj;
	struct halo_tracee *t = &inj->tracee;
	int ret;

	ret = halo_inject__check_allowed(inj, &a->err);
	if (ret == 0)
		ret = halo_inject__check_before(inj, a->family, &a->err);
	if (ret)
		return ret;
	inj->pidfd = (int)syscall(SYS_pidfd_open, t->pid, 0);
	if (inj->pidfd < 0)
		return halo_err__set(&a->err, -errno, "cannot open it: %m");
	ret = stop_thread(t, &a->err);
	if (ret)
		return ret;
	ret = use_thread(inj, &a->err);
	a->stopped_us = (unsigned int)((halo_tracee__now() - t->stopped_at_ns) / 1000);
	return ret ? ret : halo_inject__check_after(inj, &a->err);
}

int halo_inject__start(pid_t pid, const struct halo_prepared *p, const struct halo_layout *layout,
		       struct halo_family *f, struct halo_arena *arena, struct halo_attempt **out,
		       struct halo_err *err)
{
	int fds[HALO_MAP_COUNT], ret, i;
	struct halo_attempt *a;

	if (!p->has_stub)
		return halo_err__set(err, -ENODATA, "the program has no stub");
	a = calloc(1, sizeof(*a));
	if (!a)
		return halo_err__set(err, -ENOMEM, "out of memory");
	a->inj.tracee.pid = pid;
	a->inj.tracee.code = layout->bias + p->stub.attach;
	a->inj.tracee.scratch = layout->bias + p->stub.scratch;
	a->inj.code = p->attach_code;
	a->inj.pidfd = -1;
	a->family = f;
	ret = halo_family__offer(f, arena, &a->inj.offer, fds, err);
	if (ret == 0) {
		memcpy(a->inj.fds, fds, sizeof(fds));
		ret = halo_aside__start(attach, a, sizeof(*a), fds, HALO_MAP_COUNT, &a->aside, err);
		for (i = 0; i < HALO_MAP_COUNT; i++)
			zclose(&fds[i]);
	}
	if (ret) {
		free(a);
		return ret;
	}
	*out = a;
	return 0;
}

int halo_inject__fd(const struct halo_attempt *a)
{
	return a->aside.end;
}

bool halo_inject__wait(const struct halo_attempt *a, unsigned int ms)
{
	return halo_aside__wait(&a->aside, ms);
}

int halo_inject__finish(struct halo_attempt *a, unsigned int *stopped_us, struct halo_err *err)
{
	struct halo_aside aside = a->aside;
	pid_t pid = a->inj.tracee.pid;
	int ret;

	ret = halo_aside__finish(&aside, a, &a->err);
	*stopped_us = a->stopped_us;
	if (ret && err)
		*err = a->err;
	free(a);
	return ret ? halo_err__wrap(err, ret, "cannot attach process %d", pid) : 0;
}

int halo_inject__attach(pid_t pid, const struct halo_prepared *p, const struct halo_layout *layout,
			struct halo_family *f, struct halo_arena *arena, unsigned int *stopped_us,
			struct halo_err *err)
{
	struct halo_attempt *a;
	int ret;

	*stopped_us = 0;
	ret = halo_inject__start(pid, p, layout, f, arena, &a, err);
	if (ret)
		return ret;
	halo_inject__wait(a, HALO_INJECT_MS);
	return halo_inject__finish(a, stopped_us, err);
}
