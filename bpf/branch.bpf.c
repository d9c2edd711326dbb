// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Branch stacks become edges and ranges in the tables of the current generation. */
#include "branch.bpf.h"
#include "branch_core.h"
#include "context.bpf.h"
#include "region.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define EBUSY  16
#define ESRCH  3
#define EINVAL 22

volatile __u32 halo_branch_filter = 0;

static __always_inline __u64 branch__frame(struct halo_branch_walk *w, __u64 addr)
{
	struct halo_branches *scratch = container_of(w, struct halo_branches, walk);

	return proc__frame(&scratch->proc, addr, 0, &scratch->region);
}

static __always_inline void branch__tally(struct halo_branch_walk *w, enum halo_stat which)
{
	__u32 zero = 0;
	__u64 *stats = bpf_map_lookup_elem(&halo_stats, &zero);

	if (stats)
		__sync_fetch_and_add(&stats[which], 1);
}

/* The value of @key, added if it is not there. Macros: maps of different values have no common type. */
#define GET_OR_ADD(table, key, val)                                                     \
	({                                                                              \
		long __err = 0;                                                         \
                                                                                        \
		val = bpf_map_lookup_elem(table, key);                                  \
		if (!val) {                                                             \
			typeof(*(val)) __first = {};                                    \
                                                                                        \
			__err = bpf_map_update_elem(table, key, &__first, BPF_NOEXIST); \
			if (!__err || __err == -EEXIST)                                 \
				val = bpf_map_lookup_elem(table, key);                  \
			if (val)                                                        \
				__err = 0;                                              \
			else if (!__err || __err == -EEXIST)                            \
				__err = -EBUSY;                                         \
		}                                                                       \
		__err;                                                                  \
	})

/* In the table of the current generation. */
#define GET_OR_ADD_NOW(kind, key, val)                                \
	(halo_generation & 1 ? GET_OR_ADD(&halo_##kind##_b, key, val) \
			     : GET_OR_ADD(&halo_##kind##_a, key, val))

static __always_inline void branch__edge(struct halo_branch_walk *w,
					 const struct halo_edge_key *key, __u64 mispredicted)
{
	struct halo_edge_val *val;
	long err = GET_OR_ADD_NOW(edge, key, val);

	if (val) {
		__sync_fetch_and_add(&val->count, 1);
		if (mispredicted)
			__sync_fetch_and_add(&val->mispredicts, 1);
	} else if (err == -E2BIG) {
		HALO_COUNT(edge_full);
	} else {
		HALO_COUNT(edge_busy);
	}
}

static __always_inline void branch__range(struct halo_branch_walk *w,
					  const struct halo_range_key *key)
{
	struct halo_range_val *val;
	long err = GET_OR_ADD_NOW(range, key, val);

	if (val)
		__sync_fetch_and_add(&val->count, 1);
	else if (err == -E2BIG)
		HALO_COUNT(range_full);
	else
		HALO_COUNT(range_busy);
}

/* A function of its own, so that the verifier looks at it once and not for each entry. */
__noinline int halo_branch_step(__u32 user, __u32 i)
{
	struct halo_branches *scratch = bpf_map_lookup_elem(&halo_branches, &user);

	if (scratch)
		branch__step(&scratch->walk, i);
	return 0;
}

__noinline int halo_branch_count(__u32 user)
{
	struct halo_branches *scratch = bpf_map_lookup_elem(&halo_branches, &user);
	struct halo_branch_walk *w;
	__u32 nr;

	if (!scratch)
		return 0;
	w = &scratch->walk;
	nr = w->nr;
	w->started = 0;
	w->typed = 0;
	w->open_call = 0;
	w->returns = 0;
	HALO_COUNT(stacks);
	HALO_COUNT_MANY(branches, nr);
	for (__u32 i = 0; i < HALO_MAX_BRANCHES && i < nr; i++)
		halo_branch_step(user, i);
	return 0;
}

static __always_inline void feed_context(struct halo_branches *scratch,
					 const struct halo_feed *feed)
{
	struct halo_ctx_key *key = &scratch->key;
	__u32 i;

	__builtin_memset(key, 0, sizeof(*key));
	key->exe_id = scratch->proc.exe_id;
	key->quality = HALO_CTX_LEAF;
	key->nr = 1;
	key->frame[0] = proc__frame(&scratch->proc, feed->ip_addr, 0, &scratch->region);
	for (i = 1; i < HALO_MAX_FRAMES && i <= feed->nr_callers; i++) {
		key->frame[i] = proc__frame(&scratch->proc, feed->return_addr[i - 1], 1,
					    &scratch->region);
		key->nr = i + 1;
		key->quality = HALO_CTX_FP;
	}
	context__check(key, scratch->walk.open_call);
	context__count(key);
}

/* One stack of halo_feed, as if it were a sample's. */
__noinline int halo_feed_one(__u32 index, __u32 filter)
{
	struct halo_feed *feed = bpf_map_lookup_elem(&halo_feed, &index);
	__u32 user = HALO_BRANCH_FEED, nr, tgid;
	struct halo_branches *scratch;
	struct halo_proc *proc;

	scratch = bpf_map_lookup_elem(&halo_branches, &user);
	if (!feed || !scratch || feed->nr > HALO_MAX_BRANCHES)
		return -EINVAL;
	nr = feed->nr;
	tgid = feed->tgid;
	proc = bpf_map_lookup_elem(&halo_proc, &tgid);
	if (!proc)
		return -ESRCH;
	/* Another task's call on this CPU that was interrupted. */
	if (__sync_lock_test_and_set(&scratch->busy, 1))
		return -EBUSY;
	HALO_COUNT(samples);
	scratch->proc = *proc;
	scratch->walk.nr = nr;
	scratch->walk.filter = filter;
	bpf_probe_read_kernel(scratch->walk.branch, sizeof(scratch->walk.branch), feed->branch);
	halo_branch_count(user);
	if (feed->ip_addr)
		feed_context(scratch, feed);
	__sync_lock_test_and_set(&scratch->busy, 0);
	return 0;
}

SEC("syscall")
int halo_branch_feed(struct halo_feed_args *args)
{
	__u32 first = args->first, nr = args->nr, filter = args->filter, done = 0;
	int err = 0;

	for (__u32 i = 0; i < HALO_MAX_FEED && i < nr && !err; i++) {
		err = halo_feed_one(first + i, filter);
		if (!err)
			done++;
	}
	args->done = done;
	return err;
}
