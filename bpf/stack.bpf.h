/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
#ifndef HALO_STACK_BPF_H
#define HALO_STACK_BPF_H

/* The sample under way, and the walk through its stack. */
#include "region.bpf.h"

static __always_inline const struct halo_bucket *unwind__bucket(__u32 number)
{
	return bpf_map_lookup_elem(&halo_words, &number);
}

static __always_inline __u32 unwind__table(__u32 table)
{
	struct halo_table *entry = bpf_map_lookup_elem(&halo_table, &table);

	return entry ? *(volatile __u32 *)&entry->at : 0;
}

static __always_inline long unwind__read(void *dst, __u32 size, __u64 addr)
{
	return bpf_probe_read_user(dst, size, (void *)addr);
}

#include "unwind.bpf.h"

/* Per CPU. */
struct halo_scratch {
	/*
	 * 1 from before the generation is read until the sample is counted. It keeps a nested sample
	 * off the key, and tells the daemon who may still write to a generation that it retired.
	 */
	__u64 busy;
	struct halo_proc proc; /* as it was when the sample began */
	struct halo_walk walk;
	struct halo_ctx_key key;
	__u32 region; /* the index found last */
	__u32 reserved;
};

struct halo_scratch_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct halo_scratch);
};

extern struct halo_scratch_map halo_scratch SEC(".maps");

/*
 * Put the frame that the walk has come to into the key as number @i, and go on to its caller. 0, or
 * enum halo_ctx_end. A function of its own, so that the verifier looks at it once.
 */
int halo_step(__u32 i);

/* At the leaf, which has user registers at @regs. */
static __always_inline void walk__begin(struct halo_walk *w, const struct pt_regs *regs)
{
	__builtin_memset(w, 0, sizeof(*w));
	w->ip = regs->ip;
	w->sp = regs->sp;
	w->bp = regs->bp;
	w->bx = regs->bx;
	w->reg[0] = regs->ax;
	w->reg[1] = regs->dx;
	w->reg[2] = regs->cx;
	w->reg[4] = regs->si;
	w->reg[5] = regs->di;
	w->reg[8] = regs->r8;
	w->reg[9] = regs->r9;
	w->reg[10] = regs->r10;
	w->reg[11] = regs->r11;
	w->reg[12] = regs->r12;
	w->reg[13] = regs->r13;
	w->reg[14] = regs->r14;
	w->reg[15] = regs->r15;
	w->whole = 1;
}

/* The walk from the leaf on, into the key. */
static __always_inline void stack__walk(struct halo_scratch *scratch)
{
	struct halo_walk *w = &scratch->walk;
	struct halo_ctx_key *key = &scratch->key;
	__u32 end = 0, i;

	for (i = 0; i < HALO_MAX_FRAMES && !end; i++)
		end = halo_step(i);
	key->end = end ?: HALO_END_DEPTH;
	if (w->by_fp)
		key->quality = HALO_CTX_FP;
	else if (key->nr > 1 || end == HALO_END_ROOT)
		key->quality = HALO_CTX_CFI;
	else
		key->quality = HALO_CTX_LEAF;
}

#endif
