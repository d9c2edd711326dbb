// SPDX-License-Identifier: BSD-2-Clause
#include "samples.h"
#include "tuning.h"

#define LOG_TAG "samples"
#include "../lib/log.h"

/* Samples in an image go to the source function's own address: behind its entry jump. */
static void add_in_arena(struct halo_program *p, uint64_t off, uint64_t count)
{
	int64_t vaddr = halo_prepared__arena(p->prepared) + (int64_t)off;
	const struct halo_variant *v = halo_variant__at(p, vaddr);
	const struct halo_func *f = v ? halo_variant__func(v, vaddr) : NULL;

	if (f)
		halo_profile__add(p->profile, f->addr + HALO_ENTRY_SIZE, count, true);
	else
		halo_profile__add_outside(p->profile, count);
}

static void add_leaf(struct halo_program *p, uint64_t frame, uint64_t count)
{
	uint64_t off = frame & HALO_OFF_MASK, vaddr;

	if (frame & HALO_FRAME_ARENA)
		add_in_arena(p, off, count);
	else if (frame && halo_prepared__off_to_vaddr(p->prepared, off, &vaddr))
		halo_profile__add(p->profile, vaddr, count, false);
	else
		halo_profile__add_outside(p->profile, count);
}

static struct halo_program *by_exe_id(struct halo_daemon *d, uint32_t exe_id)
{
	struct halo_program *p;

	TAILQ_FOREACH(p, &d->programs, link)
		if (p->exe_id == exe_id)
			return p;
	return NULL;
}

static void add(struct halo_program *p, uint64_t frame, uint64_t count)
{
	add_leaf(p, HALO_FRAME_EXE(frame) == p->exe_id ? frame : 0, count);
	p->samples += count;
	p->fresh += count;
}

/* A sample counts for the program that runs, and for the enrolled library that it is in. */
static void on_context(void *ctx, const struct halo_ctx_key *key, uint64_t count)
{
	struct halo_daemon *d = ctx;
	uint64_t frame = key->nr ? key->frame[0] : 0;
	struct halo_program *p = by_exe_id(d, key->exe_id);
	struct halo_program *library = frame ? by_exe_id(d, HALO_FRAME_EXE(frame)) : NULL;

	if (p)
		add(p, frame, count);
	if (library && library != p)
		add(library, frame, count);
}

void halo_samples__drain(struct halo_daemon *d)
{
	uint64_t now = halo_loop__now();
	struct halo_program *p;
	int ret;

	TAILQ_FOREACH(p, &d->programs, link)
		halo_profile__decay(p->profile, now);
	ret = halo_kernel__drain(d->kernel, on_context, d);
	if (ret)
		log_warn("reading samples failed: %d", ret);
}
