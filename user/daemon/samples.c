// SPDX-License-Identifier: BSD-2-Clause
#include <elf.h>

#include "../branches/check.h"
#include "taken.h"
#include "record.h"
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

/* How the context was found, and why it ends; enum halo_ctx_end and the figures have one order. */
static void account(struct halo_daemon *d, const struct halo_ctx_key *key, uint64_t count)
{
	if (key->quality == HALO_CTX_CFI)
		d->figures[HALO_CHECK_BY_RULES] += count;
	else if (key->quality == HALO_CTX_LEAF)
		d->figures[HALO_CHECK_LEAVES] += count;
	else
		d->figures[HALO_CHECK_BY_FP] += count;
	if (key->end >= HALO_END_ROOT && key->end <= HALO_END_REG)
		d->figures[HALO_CHECK_WHOLE + key->end - HALO_END_ROOT] += count;
}

_Static_assert(HALO_CHECK_CUT_REG - HALO_CHECK_WHOLE == HALO_END_REG - HALO_END_ROOT,
	       "a figure for each end");

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

	account(d, key, count);
	halo_record__context(d, key, count);
	if (p)
		add(p, frame, count);
	if (library && library != p)
		add(library, frame, count);
}

static void on_edge(void *ctx, const struct halo_edge_key *key, const struct halo_edge_val *val)
{
	struct halo_program *p = by_exe_id(ctx, key->from_exe);

	halo_record__edge(ctx, key, val);
	if (p && !p->watched)
		halo_taken__edge(p, key, val->count);
}

static const uint8_t *bytes_at(void *ctx, uint64_t vaddr, size_t *size)
{
	const struct halo_program *p = ctx;

	for (size_t i = 0; i < p->prepared->n_segments; i++) {
		const struct halo_segment *s = &p->prepared->segments[i];

		if (!(s->flags & PF_X) || vaddr < s->vaddr || vaddr - s->vaddr >= s->filesz)
			continue;
		*size = s->filesz - (vaddr - s->vaddr);
		return p->prepared->map + s->off + (vaddr - s->vaddr);
	}
	return NULL;
}

static bool function_at(void *ctx, uint64_t vaddr, uint64_t *begin, uint64_t *end)
{
	const struct halo_program *p = ctx;
	const struct halo_func *f = halo_prepared__func_at(p->prepared, vaddr);

	if (!f)
		return false;
	*begin = f->addr;
	*end = f->addr + f->size;
	return true;
}

static enum halo_check check_range(struct halo_program *p, const struct halo_range_key *key)
{
	const struct halo_code code = {p, bytes_at, function_at};
	uint64_t begin, end;

	if (!halo_prepared__off_to_vaddr(p->prepared, key->begin_off, &begin) ||
	    !halo_prepared__off_to_vaddr(p->prepared, key->end_off, &end))
		return HALO_CHECK_NOT_CODE;
	return halo_range__check(&code, begin, end);
}

/* Variants and libraries are not looked through here. */
static void on_range(void *ctx, const struct halo_range_key *key, uint64_t count)
{
	enum halo_check check = HALO_CHECK_UNCHECKED;
	struct halo_daemon *d = ctx;
	struct halo_program *p = by_exe_id(d, key->exe_id);

	if (p)
		check = check_range(p, key);
	if (check != HALO_RANGE_GOOD)
		d->figures[check] += count;
	if (check == HALO_RANGE_GOOD && !p->watched)
		halo_taken__range(p, key, count);
	if (check == HALO_RANGE_GOOD || check == HALO_CHECK_UNCHECKED)
		halo_record__range(d, key, count);
}

void halo_samples__open(struct halo_daemon *d)
{
	halo_kernel__on_branches(d->kernel, on_edge, on_range, d);
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
