// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Exact on-CPU time of families under audit. halo_switch is attached only while there is one, and
 * halo_slice is all zero when it is attached.
 */
#include "cost.bpf.h"
#include "task.bpf.h"

#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

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

/* Arguments alone that all kernels have in these places: 5.18 added one behind them. */
SEC("tp_btf/sched_switch")
int BPF_PROG(halo_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct halo_slice *slice = bpf_map_lookup_elem(&halo_slice, &cpu);
	__u32 tgid = task__tgid(prev);
	__u64 now, start;

	if (!slice)
		return 0;
	now = bpf_ktime_get_ns();
	start = __sync_lock_test_and_set(&slice->start_ns, 0);
	/* Some virtual machines have threads of their own, whose going nobody is told of. */
	if (start && tgid && slice->tgid && slice->tgid != tgid)
		HALO_COUNT(switch_missed);
	/* A start of 0: it has been running since before this program was attached. */
	if (start)
		halo_account(tgid, start, now);
	slice->tgid = task__tgid(next) ?: HALO_SLICE_IDLE;
	__sync_lock_test_and_set(&slice->start_ns, now);
	return 0;
}

static __always_inline __u32 task__cpu(struct task_struct *task)
{
	struct task_struct___v5 *v5 = (void *)task;

	if (bpf_core_field_exists(task->thread_info.cpu))
		return BPF_CORE_READ(task, thread_info.cpu);
	return BPF_CORE_READ(v5, cpu);
}

/* Read once after halo_switch was attached: who runs on CPUs that have not switched since. */
SEC("iter/task")
int halo_adopt(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct halo_slice *slice;
	__u64 now;
	__u32 cpu;

	if (!task || !task->on_cpu)
		return 0;
	cpu = task__cpu(task);
	slice = bpf_map_lookup_elem(&halo_slice, &cpu);
	if (!slice || slice->tgid)
		return 0;
	now = bpf_ktime_get_ns();
	/* In this order: a switch in between wins, since it sets both. */
	if (__sync_val_compare_and_swap(&slice->start_ns, 0, now) == 0)
		__sync_val_compare_and_swap(&slice->tgid, 0, task__tgid(task) ?: HALO_SLICE_IDLE);
	return 0;
}

/* Account what @cpu gave to @family up to @now. False: somebody else is about to, and has not yet. */
static __always_inline bool flush(__u32 cpu, __u32 family, __u64 now)
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
	/* The start is never the same again. */
	if (!start || __sync_val_compare_and_swap(&slice->start_ns, start, now) != start)
		return false;
	halo_account(tgid, start, now);
	return true;
}

SEC("syscall")
int halo_cost_switch(struct halo_cost_args *args)
{
	__u32 family = args->family;
	struct halo_cost *cost;
	bool all = true;
	__u64 now;

	cost = bpf_map_lookup_elem(&halo_cost, &family);
	if (!cost)
		return -2; /* ENOENT */
	now = bpf_ktime_get_ns();
	for (__u32 cpu = 0; cpu < HALO_MAX_CPUS && cpu < halo_nr_cpus; cpu++)
		all &= flush(cpu, family, now);
	if (!all)
		return -11; /* EAGAIN */
	cost->arm = args->arm;
	for (int i = 0; i < HALO_MAX_ARMS; i++)
		args->ns[i] = cost->ns[i];
	return 0;
}
