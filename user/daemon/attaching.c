// SPDX-License-Identifier: BSD-2-Clause
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "../lib/util.h"
#include "adopt.h"
#include "attaching.h"
#include "identity.h"
#include "process.h"
#include "program.h"

/* That the daemon itself waits, unless some process takes its time already. */
#define PATIENCE_MS  20
#define SETTLE_MS    100
#define RETRY_NS     (3 * HALO_SEC) /* between attempts */
#define MAX_ATTEMPTS 3
/* Helpers at a time; who comes when there are that many waits. */
#define MAX_SLOW 64
#define WAIT_NS	 (100 * HALO_MS)

struct halo_attaching {
	struct halo_process *proc;
	struct halo_group *group;
	struct halo_layout layout;
	struct halo_attempt *attempt;
	struct halo_io *io; /* NULL: the daemon still waits for it */
	struct halo_timer timer;
};

static struct halo_loop *loop_of(const struct halo_process *proc)
{
	return proc->program->daemon->loop;
}

/* The attempt is the process's no more. */
static void detach(struct halo_attaching *a)
{
	struct halo_loop *loop = loop_of(a->proc);

	if (a->io)
		a->proc->program->daemon->n_slow--;
	halo_loop__cancel(loop, &a->timer);
	halo_loop__unwatch(loop, a->io);
	a->io = NULL;
	a->proc->attaching = NULL;
}

/* What came of it, as far as it goes. @a is gone. */
static int conclude(struct halo_attaching *a, struct halo_err *err)
{
	struct halo_process *proc = a->proc;
	unsigned int stopped_us;
	char how[64];
	int ret;

	detach(a);
	ret = halo_inject__finish(a->attempt, &stopped_us, err);
	if (ret == 0) {
		snprintf(how, sizeof(how), "from outside, stopped for %u us", stopped_us);
		halo_process__attached(proc, a->group, &a->layout, how);
	} else {
		halo_group__free(proc->program, a->group);
		/* Its samples count all the same, unless it is to be left alone. */
		proc->left_alone = ret == -ECANCELED;
		if (proc->left_alone)
			halo_process__forget(proc);
		else
			halo_process__announce(proc->program, proc->pid, NULL, &a->layout);
	}
	free(a);
	return ret;
}

static void try_later(struct halo_process *proc, const struct halo_err *err)
{
	char reason[sizeof(proc->reason)];

	snprintf(reason, sizeof(reason), "%.150s%s%.100s", err->what, err->cause[0] ? ": " : "",
		 err->cause);
	if (err->code == -EALREADY)
		snprintf(reason, sizeof(reason),
			 "an earlier daemon attached it: it keeps what it runs until it is "
			 "started anew");
	/* One that was in vain for so long is not repeated. */
	if (++proc->attempts >= MAX_ATTEMPTS || err->code == -ECANCELED || err->code == -ETIME) {
		halo_process__refused(proc, reason);
		return;
	}
	memcpy(proc->reason, reason, sizeof(reason));
	halo_loop__arm(loop_of(proc), &proc->timer, halo_loop__now() + RETRY_NS,
		       halo_attaching__begin, proc);
}

static void failed(struct halo_process *proc, const struct halo_err *err)
{
	if ((kill(proc->pid, 0) && errno == ESRCH) ||
	    (err->code == -ESTALE && proc->program->prepared->is_library)) {
		halo_process__forget(proc);
		halo_process__remove(proc);
		return;
	}
	try_later(proc, err);
}

static void on_end(void *ctx)
{
	struct halo_attaching *a = ctx;
	struct halo_process *proc = a->proc;
	struct halo_err err = {0};

	if (conclude(a, &err))
		failed(proc, &err);
}

static void on_io(void *ctx, uint32_t events)
{
	(void)events;
	on_end(ctx);
}

/* Go on without the daemon waiting for it. */
static int watch(struct halo_attaching *a, struct halo_err *err)
{
	struct halo_process *proc = a->proc;
	int ret;

	ret = halo_loop__watch(loop_of(proc), halo_inject__fd(a->attempt), EPOLLIN, on_io, a,
			       &a->io);
	if (ret) {
		conclude(a, NULL);
		return halo_err__set(err, ret, "watching its helper: %s", strerror(-ret));
	}
	proc->program->daemon->n_slow++;
	snprintf(proc->reason, sizeof(proc->reason), "it is being attached");
	halo_loop__arm(loop_of(proc), &a->timer, halo_loop__now() + HALO_INJECT_MS * HALO_MS,
		       on_end, a);
	return 0;
}

static int inject(struct halo_process *proc, const struct halo_layout *layout, struct halo_err *err)
{
	struct halo_attaching *a = calloc(1, sizeof(*a));
	struct halo_program *p = proc->program;
	int ret;

	if (!a)
		return halo_err__set(err, -ENOMEM, "out of memory");
	a->proc = proc;
	a->layout = *layout;
	ret = halo_group__new(p, layout, &a->group, err);
	if (ret) {
		free(a);
		return ret;
	}
	ret = halo_inject__start(proc->pid, p->prepared, layout, a->group->family, p->arena,
				 &a->attempt, err);
	if (ret) {
		halo_group__free(p, a->group);
		halo_process__announce(p, proc->pid, NULL, layout);
		free(a);
		return ret;
	}
	proc->attaching = a;
	if (!p->daemon->n_slow && halo_inject__wait(a->attempt, PATIENCE_MS))
		return conclude(a, err);
	return watch(a, err);
}

/* Its slots may be known already: shared with those of a parent, or left by an earlier daemon. */
static int attach(struct halo_process *proc, struct halo_err *err)
{
	struct halo_program *p = proc->program;
	struct halo_layout layout;
	struct halo_group *group;
	int ret;

	ret = halo_identity__layout(p, proc->pid, &layout, err);
	if (ret)
		return ret;
	halo_process__join(proc);
	if (proc->group) {
		proc->group->procs++;
		proc->reason[0] = '\0';
		return 0;
	}
	ret = halo_group__adopt(p, proc->pid, &layout, &group, err);
	if (ret)
		return ret;
	if (group)
		return halo_process__attached(proc, group, &layout, "by an earlier daemon");
	return inject(proc, &layout, err);
}

void halo_attaching__begin(void *ctx)
{
	struct halo_process *proc = ctx;
	struct halo_err err = {0};

	if (proc->group || proc->final || proc->attaching)
		return;
	if (proc->program->daemon->n_slow >= MAX_SLOW) {
		halo_loop__arm(loop_of(proc), &proc->timer, halo_loop__now() + WAIT_NS,
			       halo_attaching__begin, proc);
		return;
	}
	if (attach(proc, &err))
		failed(proc, &err);
}

void halo_attaching__cancel(struct halo_process *proc)
{
	struct halo_attaching *a = proc->attaching;
	unsigned int stopped_us;

	if (!a)
		return;
	detach(a);
	halo_inject__finish(a->attempt, &stopped_us, NULL);
	/* It may have been forked meanwhile, with its mappings made. */
	halo_group__orphaned(proc->program, a->group);
	free(a);
}

void halo_attaching__settle(struct halo_process *proc)
{
	struct halo_attaching *a = proc->attaching;

	if (a && halo_inject__wait(a->attempt, SETTLE_MS))
		conclude(a, NULL);
}
