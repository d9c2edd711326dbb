// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The stack of the task that calls, as if a sample were taken now: for tests and for measuring. */
#include "context.bpf.h"
#include "stack.bpf.h"
#include "task.bpf.h"

#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define EBUSY 16
#define ESRCH 3

static __noinline void begin(struct halo_walk *w)
{
	struct pt_regs regs;

	task__user_regs(&regs);
	walk__begin(w, &regs);
}

__noinline int halo_walk_once(__u32 tgid)
{
	struct halo_proc *proc = bpf_map_lookup_elem(&halo_proc, &tgid);
	struct halo_scratch *scratch;
	__u32 zero = 0;

	scratch = bpf_map_lookup_elem(&halo_scratch, &zero);
	if (!scratch || !proc)
		return -ESRCH;
	if (!busy__enter(&scratch->busy))
		return -EBUSY;
	scratch->proc = *proc;
	__builtin_memset(&scratch->key, 0, sizeof(scratch->key));
	scratch->key.exe_id = scratch->proc.exe_id;
	begin(&scratch->walk);
	stack__walk(scratch);
	context__count(&scratch->key);
	busy__leave(&scratch->busy);
	return 0;
}

SEC("syscall")
int halo_walk_self(struct halo_walk_args *args)
{
	__u32 tgid = task__tgid(task__current()), nr = args->nr, done = 0;

	for (__u32 i = 0; i < HALO_MAX_FEED && i < nr; i++)
		done += !halo_walk_once(tgid);
	args->done = done;
	return 0;
}
