/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
#ifndef HALO_BRANCH_CORE_H
#define HALO_BRANCH_CORE_H

/*
 * What becomes of a branch stack: which entries are believed, the edges and fall-through ranges that
 * they make, and the call that is still open, by which a caller's frame can be checked. The sampling
 * program, the program that is fed recorded stacks, and tests on the host share it, so it has no
 * helper of BPF in it.
 */
#include "halo_bpf.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define BRANCH_SPEC_WRONG 1 /* PERF_BR_SPEC_WRONG_PATH */

/* To be defined by whoever includes this. */
static __u64 branch__frame(struct halo_branch_walk *w,
			   __u64 addr); /* packed; 0: in no known file */
static void branch__edge(struct halo_branch_walk *w, const struct halo_edge_key *key,
			 __u64 mispredicted);
static void branch__range(struct halo_branch_walk *w, const struct halo_range_key *key);
static void branch__tally(struct halo_branch_walk *w, enum halo_stat which);

static __always_inline __u32 branch__type(const struct halo_branch *b)
{
	return b->flags >> HALO_BRANCH_TYPE_SHIFT & HALO_BRANCH_TYPE_MASK;
}

static __always_inline int branch__is_kernel(__u64 addr)
{
	return (__s64)addr < 0;
}

/*
 * A branch that leads ahead can't be taken twice with none in between. One that leads back can, in a
 * loop; on CPUs known to repeat the newest one, that is not believed either.
 */
static __always_inline int branch__is_twice(const struct halo_branch_walk *w)
{
	const struct halo_branch *newest = &w->branch[0], *next = &w->branch[1];

	if (w->nr < 2 || newest->from_addr != next->from_addr || newest->to_addr != next->to_addr)
		return 0;
	if (w->filter & HALO_FILTER_SKYLAKE)
		return 1;
	return (w->filter & HALO_FILTER_TWICE) && newest->to_addr > newest->from_addr;
}

/* Calls and returns pair up from the newest on; a call without a return is open. */
static __always_inline void branch__pair(struct halo_branch_walk *w, const struct halo_branch *b,
					 __u64 from)
{
	switch (branch__type(b)) {
	case 0:
		return;
	case HALO_BRANCH_RET:
	case HALO_BRANCH_COND_RET:
		w->returns++;
		break;
	case HALO_BRANCH_CALL:
	case HALO_BRANCH_IND_CALL:
	case HALO_BRANCH_COND_CALL:
		if (w->returns)
			w->returns--;
		else if (!w->open_call)
			w->open_call = from;
		break;
	}
	w->typed++;
}

/* Between @begin, where the older branch led, and the frame that the younger one left from. */
static __always_inline void branch__between(struct halo_branch_walk *w, __u64 begin)
{
	struct halo_range_key key = {};
	__u64 end = w->left;

	if (!begin || !end)
		return;
	if (begin >> HALO_OFF_BITS != end >> HALO_OFF_BITS || begin > end) {
		branch__tally(w, HALO_STAT_RANGE_BAD);
		return;
	}
	key.exe_id = begin >> HALO_OFF_BITS;
	key.begin_off = begin & HALO_OFF_MASK;
	key.end_off = end & HALO_OFF_MASK;
	branch__range(w, &key);
}

static __always_inline void branch__over(struct halo_branch_walk *w, __u64 from, __u64 to,
					 __u64 flags)
{
	struct halo_edge_key key = {};

	if (!from && !to) {
		branch__tally(w, HALO_STAT_ELSEWHERE);
		return;
	}
	key.from_exe = from >> HALO_OFF_BITS;
	key.from_off = from & HALO_OFF_MASK;
	key.to_exe = to >> HALO_OFF_BITS;
	key.to_off = to & HALO_OFF_MASK;
	branch__edge(w, &key, flags & HALO_BRANCH_MISPREDICTED);
}

/* Entry @i: call for all, in order. */
static __always_inline void branch__step(struct halo_branch_walk *w, __u32 i)
{
	const struct halo_branch *b;
	__u64 from = 0, to = 0;

	if (i >= HALO_MAX_BRANCHES)
		return;
	b = &w->branch[i];
	if ((w->filter & HALO_FILTER_WRONG_PATH) &&
	    (b->flags >> HALO_BRANCH_SPEC_SHIFT & HALO_BRANCH_SPEC_MASK) == BRANCH_SPEC_WRONG) {
		branch__tally(w, HALO_STAT_WRONG_PATH);
		return;
	}
	if (i == 0 && branch__is_twice(w)) {
		branch__tally(w, HALO_STAT_TWICE);
		return;
	}
	if (branch__is_kernel(b->from_addr) || branch__is_kernel(b->to_addr))
		branch__tally(w, HALO_STAT_TO_KERNEL);
	if (!branch__is_kernel(b->to_addr))
		to = branch__frame(w, b->to_addr);
	if (!branch__is_kernel(b->from_addr))
		from = branch__frame(w, b->from_addr);
	if (w->started)
		branch__between(w, to);
	branch__pair(w, b, from);
	branch__over(w, from, to, b->flags);
	w->left = from;
	w->started = 1;
}

#endif
