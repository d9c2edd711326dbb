/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
#ifndef HALO_BRANCH_BPF_H
#define HALO_BRANCH_BPF_H

/* Branch stacks of samples. */
#include "maps.bpf.h"

/* enum halo_branch_filter; 0: there are no branch stacks. Written by the daemon. */
extern volatile __u32 halo_branch_filter;

/* Count the stack that @user has put into its scratch memory. What call is open stays there. */
int halo_branch_count(__u32 user);

/* Count the branch stack of the sample @ctx, of process @proc: the call that is open, or 0. */
static __always_inline __u64 branch__sample(struct bpf_perf_event_data *ctx,
					    const struct halo_proc *proc)
{
	struct halo_branches *scratch;
	__u32 user = HALO_BRANCH_SAMPLE;
	long size;

	if (!halo_branch_filter)
		return 0;
	scratch = bpf_map_lookup_elem(&halo_branches, &user);
	if (!scratch)
		return 0;
	size = bpf_read_branch_records(ctx, scratch->walk.branch, sizeof(scratch->walk.branch), 0);
	if (size <= 0) {
		HALO_COUNT(no_stack);
		return 0;
	}
	scratch->proc = *proc;
	scratch->walk.nr = (__u32)size / sizeof(scratch->walk.branch[0]);
	scratch->walk.filter = halo_branch_filter;
	halo_branch_count(user);
	return scratch->walk.open_call;
}

#endif
