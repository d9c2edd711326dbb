// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Exact on-CPU time of families under audit. halo_switch is attached only while there is one, and
 * halo_slice is all zero when it is attached.
 */
#include "cost.bpf.h"
#include "task.bpf.h"

#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define ENOENT 2
#define EAGAIN 11

const volatile __u32 halo_nr_cpus = 1;

__noinline __u32 halo_account(__u32 tgid, __u64 from, __u64 to)
{
	struct halo_proc *proc = bpf_map_lookup_elem(&halo_proc, &tgid);

	if (!proc)
		return 0;
	cost__add(proc->family, from, to);
	for (int i = 0; i < HALO_MAX_LIBRARIES; i++)
		cost__add(proc->library[i], from, to);
	return 1;
}

static __always_inline bool has_family(const struct halo_proc *proc, __u32 family)
{
	bool has = proc->family == family;

	for (int i = 0; i < HALO_MAX_LIBRARIES; i++)
		has |= proc->library[i] == family;
	return has;
}

static __always_inline int on_switch(struct task_struct *prev, struct task_struct *next,
				     bool exchange)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct halo_slice *slice = bpf_map_lookup_elem(&halo_slice, &cpu);
	__u32 tgid = task__tgid(prev);
	__u64 now, start;

	if (!slice)
		return 0;
	now = bpf_ktime_get_ns();
	start = slice__take(slice, 0, exchange);
	/* Some virtual machines have threads of their own, whose going nobody is told of. */
	if (start && tgid && slice->tgid && slice->tgid != tgid)
		HALO_COUNT(switch_missed);
	/* A start of 0: it has been running since before this program was attached. */
	if (start)
		halo_account(tgid, start, now);
	*(volatile __u32 *)&slice->tgid = task__tgid(next) ?: HALO_SLICE_IDLE;
	slice__take(slice, now, exchange);
	return 0;
}

/* Arguments alone that all kernels have in these places: 5.18 added one behind them. */
SEC("raw_tp/sched_switch")
int BPF_PROG(halo_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return on_switch(prev, next, true);
}

SEC("raw_tp/sched_switch")
int BPF_PROG(halo_swch_plain, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return on_switch(prev, next, false);
}

/* The daemon has it run once on each CPU after halo_switch was attached: who runs there since before? */
SEC("raw_tp")
int halo_adopt(void *ctx)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct halo_slice *slice = bpf_map_lookup_elem(&halo_slice, &cpu);

	if (!slice || slice->tgid)
		return 0;
	*(volatile __u32 *)&slice->tgid = task__tgid(task__current()) ?: HALO_SLICE_IDLE;
	*(volatile __u64 *)&slice->start_ns = bpf_ktime_get_ns();
	return 0;
}

/* Account what @cpu gave to @family up to @now. False: somebody else is about to, and has not yet. */
static __always_inline bool flush(__u32 cpu, __u32 family, __u64 now, bool exchange)
{
	struct halo_slice *slice = bpf_map_lookup_elem(&halo_slice, &cpu);
	struct halo_proc *proc;
	__u64 start;
	__u32 tgid;

	if (!slice)
		return true;
	start = *(volatile __u64 *)&slice->start_ns;
	tgid = *(volatile __u32 *)&slice->tgid;
	if (start >= now)
		return true;
	proc = bpf_map_lookup_elem(&halo_proc, &tgid);
	if (!proc || !has_family(proc, family))
		return true;
	if (!start)
		return false;
	if (!exchange)
		*(volatile __u64 *)&slice->start_ns = now;
	/* The start is never the same again. */
	else if (__sync_val_compare_and_swap(&slice->start_ns, start, now) != start)
		return false;
	halo_account(tgid, start, now);
	return true;
}

static __always_inline int begin_arm(__u32 family, __u32 arm)
{
	struct halo_cost *cost = bpf_map_lookup_elem(&halo_cost, &family);

	if (!cost)
		return -ENOENT;
	cost->arm = arm;
	for (int i = 0; i < HALO_MAX_ARMS; i++)
		cost->switched_ns[i] = cost->ns[i];
	return 0;
}

SEC("raw_tp")
int halo_cost_switch(struct halo_cost_args *args)
{
	__u32 family = args->family;
	__u64 now = bpf_ktime_get_ns();
	bool all = true;

	for (__u32 cpu = 0; cpu < HALO_MAX_CPUS && cpu < halo_nr_cpus; cpu++)
		all &= flush(cpu, family, now, true);
	return all ? begin_arm(family, args->arm) : -EAGAIN;
}

/* The same in two, for kernels without atomic exchange: on each CPU, then once. */
SEC("raw_tp")
int halo_flush(struct halo_cost_args *args)
{
	return flush(bpf_get_smp_processor_id(), args->family, args->now_ns, false) ? 0 : -EAGAIN;
	return 0;
}

SEC("raw_tp")
int halo_arm(struct halo_cost_args *args)
{
	return begin_arm(args->family, args->arm);
}
