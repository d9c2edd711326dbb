/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
#ifndef HALO_REGION_BPF_H
#define HALO_REGION_BPF_H

/* Where in which file an address of a process lies. */
#include "maps.bpf.h"

#define REGION_STEPS 11 /* 2^(REGION_STEPS - 1) >= HALO_MAX_MAPPED: halving to nothing */

_Static_assert(1 << (REGION_STEPS - 1) >= HALO_MAX_MAPPED, "enough steps to find any region");

/*
 * 1 + the index of the region of @space (a struct halo_space in one word) that holds @addr; 0: none
 * does. A function of its own, so that the verifier looks at its loop once and not in each frame.
 */
__u32 halo_find_region(__u64 space, __u64 addr);

static __always_inline bool region__holds(const struct halo_region *region, __u64 addr)
{
	return addr >= region->start_addr && addr < region->end_addr;
}

/* @last: the index found last, wherever that was; the next one is most often the same. */
static __always_inline const struct halo_region *region__find(const struct halo_space *space,
							      __u64 addr, __u32 *last)
{
	const struct halo_region *region;
	__u32 at = *last;

	if (at - space->first < space->nr) {
		region = bpf_map_lookup_elem(&halo_region, &at);
		if (region && region__holds(region, addr))
			return region;
	}
	at = halo_find_region(*(__u64 *)space, addr);
	if (!at--)
		return NULL;
	*last = at;
	return bpf_map_lookup_elem(&halo_region, &at);
}

/* @addr, which lies in @region, as a frame; 0: of no file. */
static __always_inline __u64 region__frame(const struct halo_region *region, __u64 addr)
{
	__u64 frame;

	if (!region->exe_id)
		return 0;
	frame = (__u64)region->exe_id << HALO_OFF_BITS |
		((region->off + addr - region->start_addr) & HALO_OFF_MASK);
	return region->kind == HALO_REGION_ARENA ? frame | HALO_FRAME_ARENA : frame;
}

/*
 * Where @addr is, packed; 0: in no file. @back is 1 for return addresses, whose call lies before. The
 * program's own text is known from exec on, all else when the daemon has read what is mapped.
 */
static __always_inline __u64 proc__frame(const struct halo_proc *proc, __u64 addr, __u64 back,
					 __u32 *last)
{
	const struct halo_region *region;
	__u64 at = addr - back;

	if (at >= proc->text_start_addr && at < proc->text_end_addr)
		return (__u64)proc->exe_id << HALO_OFF_BITS |
		       ((proc->text_off + addr - proc->text_start_addr) & HALO_OFF_MASK);
	region = region__find(&proc->space, at, last);
	return region ? region__frame(region, addr) : 0;
}

#endif
