// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
#include "stack.bpf.h"
#include "task.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile __u32 halo_pidns = 0;
const volatile bool halo_has_regs = true;
volatile __u64 halo_generation = 0;

struct halo_enrolled_map halo_enrolled SEC(".maps");
struct halo_exe_map halo_exe SEC(".maps");
struct halo_inode_map halo_inode SEC(".maps");
struct halo_proc_map halo_proc SEC(".maps");
struct halo_region_map halo_region SEC(".maps");
struct halo_table_map halo_table SEC(".maps");
struct halo_words_map halo_words SEC(".maps");
struct halo_ctx_map halo_ctx_a SEC(".maps");
struct halo_ctx_map halo_ctx_b SEC(".maps");
struct halo_edge_map halo_edge_a SEC(".maps");
struct halo_edge_map halo_edge_b SEC(".maps");
struct halo_range_map halo_range_a SEC(".maps");
struct halo_range_map halo_range_b SEC(".maps");
struct halo_branches_map halo_branches SEC(".maps");
struct halo_feed_map halo_feed SEC(".maps");
struct halo_stats_map halo_stats SEC(".maps");
struct halo_events_map halo_events SEC(".maps");
struct halo_cost_map halo_cost SEC(".maps");
struct halo_slice_map halo_slice SEC(".maps");
struct halo_fault_map halo_fault SEC(".maps");
struct halo_scratch_map halo_scratch SEC(".maps");
