// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>

#include "../lib/util.h"
#include "names.h"
#include "process.h"
#include "trial.h"
#include "unwinds.h"

#define PAD 0xcc /* int3 between and behind the counting entries */

struct halo_trial {
	struct halo_program *program;
	struct halo_tuning *section;
	struct halo_group *group;
	struct halo_audit *audit;
	struct halo_timer timer;
	halo_trial_fn fn;
	int64_t entry[2]; /* counting entries by enum halo_audit_arm */
};

const struct halo_group *halo_trial__group(const struct halo_trial *t)
{
	return t->group;
}

struct halo_tuning *halo_trial__section(const struct halo_trial *t)
{
	return t->section;
}

static void run(void *ctx, enum halo_audit_arm arm)
{
	struct halo_trial *t = ctx;

	halo_family__set_slot(t->group->family, t->section->root->slot, t->entry[arm]);
}

static uint64_t entries(void *ctx, enum halo_audit_arm arm)
{
	struct halo_trial *t = ctx;

	return halo_family__entries(t->group->family, arm);
}

static int cost(void *ctx, enum halo_audit_arm next, uint64_t ns[2])
{
	struct halo_trial *t = ctx;
	uint64_t all[8];
	int ret;

	ret = halo_kernel__cost_switch(t->program->daemon->kernel, t->group->id, next, all);
	if (ret)
		return ret;
	ns[HALO_ARM_OLD] = all[HALO_ARM_OLD];
	ns[HALO_ARM_NEW] = all[HALO_ARM_NEW];
	return 0;
}

/* Both versions through the same kind of entry, so that counting costs both the same. */
static int write_entries(struct halo_trial *t, struct halo_err *err)
{
	struct halo_program *p = t->program;
	int64_t base = halo_prepared__arena(p->prepared);
	uint64_t off = halo_arena__next(p->arena);
	int64_t rseq = halo_rseq__offset(halo_group__pid(p, t->group));
	const struct halo_tuning *s = t->section;
	int64_t target[2] = {
		[HALO_ARM_OLD] = s->adopted ? s->adopted->entry
					    : (int64_t)(s->root->addr + HALO_ENTRY_SIZE),
		[HALO_ARM_NEW] = s->trial->entry,
	};
	const uint32_t size = 2 * HALO_COUNT_ENTRY_SIZE;
	uint8_t code[2 * HALO_COUNT_ENTRY_SIZE + HALO_FRAMES_SIZE];
	int n;

	memset(code, PAD, sizeof(code));
	for (unsigned int arm = 0; arm < 2; arm++) {
		uint64_t at = arm * HALO_COUNT_ENTRY_SIZE;

		t->entry[arm] = base + (int64_t)(off + at);
		n = halo_count_entry__emit(code + at, t->entry[arm], target[arm],
					   p->prepared->stub.slots_begin, arm, rseq);
		if (n < 0)
			return halo_err__set(err, n, "the counting entry can't reach its target");
	}
	halo_frames__leaf(code + size, size);
	n = halo_arena__write(p->arena, off, code, sizeof(code), size, err);
	if (n)
		return n;
	halo_names__entries(p->arena, off, size, s->root);
	halo_unwinds__arena(p);
	return 0;
}

static void trial__free(struct halo_trial *t)
{
	struct halo_daemon *d = t->program->daemon;

	halo_loop__cancel(d->loop, &t->timer);
	halo_kernel__cost_end(d->kernel, t->group->id);
	halo_audit__free(t->audit);
	t->program->trial = NULL;
	free(t);
}

static void step(void *ctx)
{
	struct halo_trial *t = ctx;
	struct halo_audit_result result;
	struct halo_program *p = t->program;
	struct halo_tuning *s = t->section;
	struct halo_group *group = t->group;
	halo_trial_fn fn = t->fn;
	uint64_t next_ns = 0;

	if (halo_audit__step(t->audit, halo_loop__now(), &next_ns) == HALO_AUDIT_RUNNING) {
		halo_loop__arm(p->daemon->loop, &t->timer, next_ns, step, t);
		return;
	}
	halo_audit__result(t->audit, &result);
	trial__free(t);
	fn(p, s, group, &result);
}

int halo_trial__start(struct halo_program *p, struct halo_tuning *s, struct halo_group *group,
		      halo_trial_fn fn, struct halo_err *err)
{
	struct halo_audit_target target = {.run = run, .entries = entries, .cost = cost};
	struct halo_audit_opts opts = {0};
	struct halo_trial *t = calloc(1, sizeof(*t));
	int ret;

	if (!t)
		return halo_err__set(err, -ENOMEM, "out of memory");
	t->program = p;
	t->section = s;
	t->group = group;
	t->fn = fn;
	ret = write_entries(t, err);
	if (ret) {
		free(t);
		return ret;
	}
	halo_family__clear_entries(group->family, HALO_ARM_OLD);
	halo_family__clear_entries(group->family, HALO_ARM_NEW);
	ret = halo_kernel__cost_begin(p->daemon->kernel, group->id, HALO_ARM_OLD);
	target.ctx = t;
	t->audit = ret ? NULL : halo_audit__new(&opts, &target, halo_loop__now());
	if (!t->audit) {
		ret = ret ? ret : -ENOMEM;
		trial__free(t);
		return halo_err__set(err, ret, "starting an audit: %s", strerror(-ret));
	}
	p->trial = t;
	halo_loop__arm(p->daemon->loop, &t->timer, 0, step, t);
	return 0;
}

void halo_trial__cancel(struct halo_program *p)
{
	if (p->trial)
		trial__free(p->trial);
}
