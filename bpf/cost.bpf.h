/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
#ifndef HALO_COST_BPF_H
#define HALO_COST_BPF_H

/*
 * A slice is a stretch of time that a CPU gives to one thread group. Whoever takes start_ns away by an
 * atomic exchange accounts from there on, so no time counts twice.
 */
#include "maps.bpf.h"

/* The cost record of a thread group's family; NULL: not under audit. */
static __always_inline struct halo_cost *cost__of(__u32 tgid)
{
	struct halo_proc *proc = bpf_map_lookup_elem(&halo_proc, &tgid);
	__u32 family;

	if (!proc || !proc->family)
		return NULL;
	family = proc->family;
	return bpf_map_lookup_elem(&halo_cost, &family);
}

static __always_inline void cost__add(struct halo_cost *cost, __u64 from, __u64 to)
{
	if (from < cost->since_ns)
		from = cost->since_ns;
	if (to > from)
		__sync_fetch_and_add(&cost->ns[cost->arm & (HALO_MAX_ARMS - 1)], to - from);
}

/* Account what this CPU gave to @tgid so far: its entry in halo_proc is about to go. */
static __always_inline void cost__leave(__u32 tgid)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct halo_slice *slice = bpf_map_lookup_elem(&halo_slice, &cpu);
	struct halo_cost *cost;
	__u64 now, start;

	if (!slice || !slice->start_ns || slice->tgid != tgid)
		return;
	cost = cost__of(tgid);
	if (!cost)
		return;
	now = bpf_ktime_get_ns();
	start = __sync_lock_test_and_set(&slice->start_ns, now);
	if (start)
		cost__add(cost, start, now);
}

#endif
