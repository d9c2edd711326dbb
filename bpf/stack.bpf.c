// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
#include "stack.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * Where the frame lies; false: nowhere that is known. The program's own text is known from exec on,
 * all else when the daemon has read what is mapped.
 */
static __always_inline bool locate(struct halo_scratch *scratch, __u64 *frame, __u32 *table,
				   __u64 *off)
{
	const struct halo_proc *proc = &scratch->proc;
	const struct halo_walk *w = &scratch->walk;
	__u64 at = w->ip - w->back;
	const struct halo_region *region;

	if (at >= proc->text_start_addr && at < proc->text_end_addr) {
		*off = proc->text_off + at - proc->text_start_addr;
		*frame = (__u64)proc->exe_id << HALO_OFF_BITS | ((*off + w->back) & HALO_OFF_MASK);
		*table = HALO_TABLE(proc->exe_id, 0);
		return true;
	}
	region = region__find(&proc->space, at, &scratch->region);
	if (!region)
		return false;
	*off = region->off + at - region->start_addr;
	*frame = region__frame(region, w->ip);
	*table = HALO_TABLE(region->exe_id, region->kind == HALO_REGION_ARENA);
	return true;
}

__noinline int halo_step(__u32 i)
{
	struct halo_scratch *scratch;
	__u64 frame, off;
	__u32 zero = 0, table;

	scratch = bpf_map_lookup_elem(&halo_scratch, &zero);
	if (!scratch || i >= HALO_MAX_FRAMES)
		return HALO_END_DEPTH;
	if (!locate(scratch, &frame, &table, &off)) {
		/* A leaf counts wherever it is; a caller that is nowhere is no caller. */
		if (!i)
			scratch->key.nr = 1;
		return HALO_END_UNMAPPED;
	}
	scratch->key.frame[i] = frame;
	scratch->key.nr = i + 1;
	return unwind__step(&scratch->walk, table, off);
}
