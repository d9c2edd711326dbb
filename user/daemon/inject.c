/* SPDX-License-Identifier: BSD-2-Clause */
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

#define WAIT_MS	 5000 /* that the daemon waits for an attach */
#define RETRIES	 20   /* when the thread is inside a restartable sequence */
#define RETRY_NS 200000

struct attempt {
	struct halo_injection inj;
	const struct halo_family *family;
	unsigned int stopped_us;
	struct halo_err err;
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
	struct attempt *a = ctx;
	struct halo_injection *inj = &a->inj;
	struct halo_tracee *t = &inj->tracee;
	int ret;

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

int halo_inject__attach(pid_t pid, const struct halo_prepared *p, const struct halo_layout *layout,
			struct halo_family *f, struct halo_arena *arena, unsigned int *stopped_us,
			struct halo_err *err)
{
	struct attempt a = {
		.inj =
			{
				.tracee =
					{
						.pid = pid,
						.code = layout->bias + p->stub.attach,
						.scratch = layout->bias + p->stub.scratch,
					},
				.code = p->attach_code,
				.pidfd = -1,
			},
		.family = f,
	};
	int fds[HALO_MAP_COUNT], ret, i;

	*stopped_us = 0;
	if (!p->has_stub)
		return halo_err__set(err, -ENODATA, "the program has no stub");
	ret = halo_family__offer(f, arena, &a.inj.offer, fds, err);
	if (ret)
		return ret;
	memcpy(a.inj.fds, fds, sizeof(fds));
	ret = halo_aside__run(attach, &a, sizeof(a), fds, HALO_MAP_COUNT, WAIT_MS, &a.err);
	*stopped_us = a.stopped_us;
	if (ret && err)
		*err = a.err;
	for (i = 0; i < HALO_MAP_COUNT; i++)
		zclose(&fds[i]);
	return ret ? halo_err__wrap(err, ret, "cannot attach process %d", pid) : 0;
}
