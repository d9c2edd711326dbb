/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
#ifndef HALO_MAPS_BPF_H
#define HALO_MAPS_BPF_H

/*
 * The maps, which maps.bpf.c defines. All that a sample writes to are allocated in advance: nothing
 * is allocated in an NMI.
 */
#include "halo_bpf.h"
#include "halo_unwind.h"

#include <bpf/bpf_helpers.h>

#define HALO_EVENTS_SIZE (256 * 1024)

struct halo_enrolled_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HALO_MAX_EXES);
	__type(key, struct halo_build_id);
	__type(value, struct halo_enrollment);
};

struct halo_exe_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HALO_MAX_EXES);
	__type(key, __u32);
	__type(value, struct halo_exe_info);
};

struct halo_inode_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, HALO_MAX_INODES);
	__type(key, struct halo_inode_key);
	__type(value, __u32);
};

struct halo_proc_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HALO_MAX_PROCS);
	__type(key, __u32);
	__type(value, struct halo_proc);
};

/* Written by the daemon through a mapping of its own. */
struct halo_region_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, HALO_MAX_REGIONS);
	__type(key, __u32);
	__type(value, struct halo_region);
};

struct halo_table_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, HALO_TABLE(HALO_MAX_EXES, 0));
	__type(key, __u32);
	__type(value, struct halo_table);
};

/* The daemon sets the number of buckets, and writes through a mapping of its own. */
struct halo_words_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct halo_bucket);
};

struct halo_ctx_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HALO_MAX_CTXS);
	__type(key, struct halo_ctx_key);
	__type(value, struct halo_ctx_val);
};

struct halo_edge_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HALO_MAX_EDGES);
	__type(key, struct halo_edge_key);
	__type(value, struct halo_edge_val);
};

struct halo_range_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HALO_MAX_RANGES);
	__type(key, struct halo_range_key);
	__type(value, struct halo_range_val);
};

struct halo_branches_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, HALO_BRANCH_USERS);
	__type(key, __u32);
	__type(value, struct halo_branches);
};

struct halo_feed_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, HALO_MAX_FEED);
	__type(key, __u32);
	__type(value, struct halo_feed);
};

struct halo_stats_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct halo_stats);
};

struct halo_events_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, HALO_EVENTS_SIZE);
};

struct halo_cost_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HALO_MAX_FAMILIES);
	__type(key, __u32);
	__type(value, struct halo_cost);
};

/* A plain array by CPU: the audit reaches into those of other CPUs. */
struct halo_slice_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, HALO_MAX_CPUS);
	__type(key, __u32);
	__type(value, struct halo_slice);
};

struct halo_fault_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, HALO_MAX_FAULTS);
	__type(key, __u32);
	__type(value, struct halo_fault);
};

extern struct halo_enrolled_map halo_enrolled SEC(".maps");
extern struct halo_exe_map halo_exe SEC(".maps");
extern struct halo_inode_map halo_inode SEC(".maps");
extern struct halo_proc_map halo_proc SEC(".maps");
extern struct halo_region_map halo_region SEC(".maps");
extern struct halo_table_map halo_table SEC(".maps");
extern struct halo_words_map halo_words SEC(".maps");
extern struct halo_ctx_map halo_ctx_a SEC(".maps");
extern struct halo_ctx_map halo_ctx_b SEC(".maps");
extern struct halo_edge_map halo_edge_a SEC(".maps");
extern struct halo_edge_map halo_edge_b SEC(".maps");
extern struct halo_range_map halo_range_a SEC(".maps");
extern struct halo_range_map halo_range_b SEC(".maps");
extern struct halo_branches_map halo_branches SEC(".maps");
extern struct halo_feed_map halo_feed SEC(".maps");
extern struct halo_stats_map halo_stats SEC(".maps");
extern struct halo_events_map halo_events SEC(".maps");
extern struct halo_cost_map halo_cost SEC(".maps");
extern struct halo_slice_map halo_slice SEC(".maps");
extern struct halo_fault_map halo_fault SEC(".maps");

/* Programs of one CPU interrupt each other, so counting is atomic. */
#define HALO_COUNT_MANY(member, n)                                                      \
	({                                                                              \
		__u32 __zero = 0;                                                       \
		struct halo_stats *__stats = bpf_map_lookup_elem(&halo_stats, &__zero); \
                                                                                        \
		if (__stats)                                                            \
			__sync_fetch_and_add(&__stats->member, n);                      \
	})
#define HALO_COUNT(member) HALO_COUNT_MANY(member, 1)

/*
 * Scratch memory of this CPU is taken, and given back. What interrupts the one who has it ends before it
 * goes on, so that looking and taking need not be one step; but all that it does comes after it took it,
 * and before it gave it back, as other CPUs see it.
 */
static __always_inline bool busy__enter(__u64 *busy)
{
	if (*(volatile __u64 *)busy)
		return false;
#ifdef __TARGET_ARCH_x86
	/* An exchange would do; kernels have none before 5.12. Locked, it is as good a barrier. */
	__sync_fetch_and_add(busy, 1);
#else
	__sync_lock_test_and_set(busy, 1);
#endif
	return true;
}

static __always_inline void busy__leave(__u64 *busy)
{
#ifdef __TARGET_ARCH_x86
	__sync_fetch_and_add(busy, -1);
#else
	__sync_lock_test_and_set(busy, 0);
#endif
}

/* The generation that samples go to: 0 is …_a, 1 …_b. Written by the daemon. */
extern volatile __u64 halo_generation;

#endif
