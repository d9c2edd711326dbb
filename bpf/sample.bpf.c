// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * One sample: who runs, where, and who called it; counted in the context table of the current
 * generation. Runs in an NMI where the event comes from a hardware counter.
 */
#include "branch.bpf.h"
#include "context.bpf.h"
#include "region.bpf.h"
#include "task.bpf.h"

#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Frame pointers of two frames are no further apart. */
#define MAX_FRAME_SIZE (1ULL << 20)
#define MAX_STEPS      (2 * HALO_MAX_FRAMES)
#define USER_ADDR_MIN  4096ULL
#define USER_ADDR_MAX  (1ULL << 47)
#define USER_MODE_RING 3

/* Per CPU. */
struct halo_scratch {
	/*
	 * 1 from before the generation is read until the sample is counted. It keeps a nested sample
	 * off the key, and tells the daemon who may still write to a generation that it retired.
	 */
	__u64 busy;
	struct halo_proc proc; /* as it was when the sample began */
	struct halo_ctx_key key;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct halo_scratch);
} halo_scratch SEC(".maps");

struct halo_frame_record {
	__u64 fp;
	__u64 ret;
};

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
	/* Of the process's threads, one asks. */
	if (__sync_val_compare_and_swap(&entry->ask_ns, proc->ask_ns,
					now + (HALO_ASK_NS << doubling)) != proc->ask_ns)
		return;
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

/*
 * Callers by frame pointers. Nothing but the number of the frame is carried in a register from one
 * frame to the next: else the verifier tries all combinations.
 */
static __always_inline void walk(struct halo_ctx_key *key, const struct halo_proc *proc, __u64 fp,
				 __u64 sp)
{
	struct halo_frame_record rec = {.fp = fp};
	__u64 low = sp;
	bool mapped;

	key->nr = 1;
	key->quality = HALO_CTX_LEAF;
	for (__u32 i = 1; i <= HALO_MAX_FRAMES; i++) {
		fp = rec.fp;
		if (fp < low || fp - low > MAX_FRAME_SIZE || fp & 7)
			break;
		if (bpf_probe_read_user(&rec, sizeof(rec), (void *)fp))
			break;
		if (rec.ret < USER_ADDR_MIN || rec.ret >= USER_ADDR_MAX)
			break;
		if (i == HALO_MAX_FRAMES) {
			key->cut = 1;
			break;
		}
		key->frame[i] = proc__frame(proc, rec.ret, 1, &mapped);
		key->nr = i + 1;
		key->quality = HALO_CTX_FP;
		low = fp + sizeof(rec);
	}
}

/* False: nothing is known to be mapped at @ip. */
static __always_inline bool record(struct bpf_perf_event_data *ctx, struct halo_scratch *scratch,
				   __u64 ip, __u64 fp, __u64 sp)
{
	const struct halo_proc *proc = &scratch->proc;
	struct halo_ctx_key *key = &scratch->key;
	bool mapped;

	__builtin_memset(key, 0, sizeof(*key));
	key->exe_id = proc->exe_id;
	key->frame[0] = proc__frame(proc, ip, 0, &mapped);
	if (HALO_FRAME_EXE(key->frame[0]) != proc->exe_id)
		HALO_COUNT(outside);
	if (!mapped)
		HALO_COUNT(unmapped);
	walk(key, proc, fp, sp);
	context__check(key, branch__sample(ctx, proc));
	context__count(key);
	return mapped;
}

/* The busy sample of this CPU. */
static __always_inline void sample(struct bpf_perf_event_data *ctx, struct task_struct *task,
				   struct halo_scratch *scratch, struct halo_proc *entry)
{
	const bpf_user_pt_regs_t *regs = &ctx->regs;
	__u64 ip = regs->ip, fp = regs->bp, sp = regs->sp, exec_pages, now;
	struct halo_proc *proc = &scratch->proc;
	struct pt_regs *user;

	*proc = *entry;
	/* Of the copy: the entry may become another process's at any time. */
	if (!task__is(task, proc)) {
		HALO_COUNT(stale_pid);
		return;
	}
	HALO_COUNT(samples);
	if ((regs->cs & USER_MODE_RING) != USER_MODE_RING) {
		HALO_COUNT(kernel);
		user = (struct pt_regs *)bpf_task_pt_regs(task);
		ip = user->ip;
		fp = user->bp;
		sp = user->sp;
	}
	exec_pages = task->mm ? task->mm->exec_vm : 0;
	now = bpf_ktime_get_ns();
	if (!record(ctx, scratch, ip, fp, sp) || exec_pages != proc->exec_pages ||
	    now >= proc->refresh_ns)
		ask(entry, proc, task__tgid(task), exec_pages, now);
}

SEC("perf_event")
int halo_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
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
	if (__sync_lock_test_and_set(&scratch->busy, 1)) {
		HALO_COUNT(samples);
		HALO_COUNT(ctx_busy);
		return 0;
	}
	sample(ctx, task, scratch, entry);
	__sync_lock_test_and_set(&scratch->busy, 0);
	return 0;
}
