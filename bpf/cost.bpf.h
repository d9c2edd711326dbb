/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
#ifndef HALO_COST_BPF_H
#define HALO_COST_BPF_H

/*
 * A slice is a stretch of time that a CPU gives to one thread group. Whoever takes start_ns away by an
 * atomic exchange accounts from there on, so no time counts twice. It leaves 0 until it has accounted, so
 * that nobody takes the sums for complete before.
 *
 * Kernels have none before 5.12. There (@exchange is false) a slice is left to its own CPU, on which the
 * daemon has halo_flush run, with interrupts off as sched_switch has them: they never meet. An exit or
 * exec that it interrupts between looking and taking, which is a nanosecond, counts a stretch twice.
 */
#include "maps.bpf.h"

/* Time of a thread group, for all of its families that are under audit. */
__u32 halo_account(__u32 tgid, __u64 from, __u64 to);

static __always_inline void cost__add(__u32 family, __u64 from, __u64 to)
{
	struct halo_cost *cost = family ? bpf_map_lookup_elem(&halo_cost, &family) : NULL;

	if (!cost)
		return;
	if (from < cost->since_ns)
		from = cost->since_ns;
	if (to > from)
		__sync_fetch_and_add(&cost->ns[cost->arm & (HALO_MAX_ARMS - 1)], to - from);
}

/* The start that was there, in whose place @start is now. */
static __always_inline __u64 slice__take(struct halo_slice *slice, __u64 start, bool exchange)
{
	__u64 old;

	if (exchange)
		return __sync_lock_test_and_set(&slice->start_ns, start);
	old = *(volatile __u64 *)&slice->start_ns;
	*(volatile __u64 *)&slice->start_ns = start;
	return old;
}

/* Account what this CPU gave to @tgid so far: its entry in halo_proc is about to go. */
static __always_inline void cost__leave(__u32 tgid, bool exchange)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct halo_slice *slice = bpf_map_lookup_elem(&halo_slice, &cpu);
	__u64 now, start;

	if (!slice || !slice->start_ns || slice->tgid != tgid)
		return;
	now = bpf_ktime_get_ns();
	start = slice__take(slice, 0, exchange);
	if (start)
		halo_account(tgid, start, now);
	slice__take(slice, now, exchange);
}

#endif
