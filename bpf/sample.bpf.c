// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * One sample: who runs, where, and who called it; counted in the context table of the current
 * generation. Runs in an NMI where the event comes from a hardware counter.
 */
#include "branch.bpf.h"
#include "context.bpf.h"
#include "stack.bpf.h"
#include "task.bpf.h"

#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * Have the daemon read what the process has mapped: the number of its executable pages is another
 * one, or it runs where nothing was, or that was long ago. @entry is in the map.
 */
static __always_inline void ask(struct halo_proc *entry, const struct halo_proc *proc, __u32 tgid,
				__u64 exec_pages, __u64 now)
{
	struct halo_event event = {.kind = HALO_EVENT_MAPS};
	__u64 doubling = proc->asked;

	if (now < proc->ask_ns)
		return;
	if (doubling > HALO_ASK_DOUBLING)
		doubling = HALO_ASK_DOUBLING;
	/* Of the process's threads, one asks; two at the same moment do no harm. */
	if (*(volatile __u64 *)&entry->ask_ns != proc->ask_ns)
		return;
	entry->ask_ns = now + (HALO_ASK_NS << doubling);
	event.tgid = tgid;
	event.exe_id = proc->exe_id;
	event.start_ns = proc->start_ns;
	event.exec_ns = proc->exec_ns;
	event.exec_pages = exec_pages;
	if (bpf_ringbuf_output(&halo_events, &event, sizeof(event), 0))
		HALO_COUNT(event_lost);
	else
		__sync_fetch_and_add(&entry->asked, 1);
}

/* The walk has begun. False: nothing is known to be mapped where the program runs. */
static __always_inline bool record(struct bpf_perf_event_data *ctx, struct halo_scratch *scratch)
{
	struct halo_ctx_key *key = &scratch->key;
	bool mapped;

	__builtin_memset(key, 0, sizeof(*key));
	key->exe_id = scratch->proc.exe_id;
	stack__walk(scratch);
	if (HALO_FRAME_EXE(key->frame[0]) != key->exe_id)
		HALO_COUNT(outside);
	mapped = key->nr > 1 || key->end != HALO_END_UNMAPPED;
	if (!mapped)
		HALO_COUNT(unmapped);
	context__check(key, branch__sample(ctx, &scratch->proc));
	context__count(key);
	return mapped;
}

/*
 * Not inline: the compiler would share the loads with those from the program's context, which the
 * verifier does not take.
 */
static __noinline void begin_in_kernel(struct halo_walk *w)
{
	struct pt_regs regs;

	task__user_regs(&regs);
	walk__begin(w, &regs);
}

/* The busy sample of this CPU. */
static __always_inline void sample(struct bpf_perf_event_data *ctx, struct task_struct *task,
				   struct halo_scratch *scratch, struct halo_proc *entry)
{
	struct halo_proc *proc = &scratch->proc;
	__u64 exec_pages, now;

	*proc = *entry;
	/* Of the copy: the entry may become another process's at any time. */
	if (!task__is(task, proc)) {
		HALO_COUNT(stale_pid);
		return;
	}
	HALO_COUNT(samples);
	if ((ctx->regs.cs & USER_RING) == USER_RING) {
		walk__begin(&scratch->walk, &ctx->regs);
	} else {
		HALO_COUNT(kernel);
		begin_in_kernel(&scratch->walk);
	}
	exec_pages = BPF_CORE_READ(task, mm, exec_vm);
	now = bpf_ktime_get_ns();
	if (!record(ctx, scratch) || exec_pages != proc->exec_pages || now >= proc->refresh_ns)
		ask(entry, proc, task__tgid(task), exec_pages, now);
}

SEC("perf_event")
int halo_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = task__current();
	struct halo_scratch *scratch;
	struct halo_proc *entry;
	__u32 tgid = task__tgid(task), zero = 0;

	HALO_COUNT(ticks);
	entry = bpf_map_lookup_elem(&halo_proc, &tgid);
	if (!entry)
		return 0;
	scratch = bpf_map_lookup_elem(&halo_scratch, &zero);
	if (!scratch)
		return 0;
	if (!busy__enter(&scratch->busy)) {
		HALO_COUNT(samples);
		HALO_COUNT(ctx_busy);
		return 0;
	}
	sample(ctx, task, scratch, entry);
	busy__leave(&scratch->busy);
	return 0;
}
