/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
#ifndef HALO_BPF_H
#define HALO_BPF_H

/*
 * Keys, values and records that the BPF programs and the daemon share: constants, enums, structs,
 * no function. Map names have at most 15 characters; structs have names and no holes, so that
 * bpftool map dump reads well.
 */
#ifdef __bpf__
#include "vmlinux.h"
#else
#include <linux/types.h>
#endif

/*
 * exe_id: a small number that the daemon gives a file with code: an enrolled binary, or what its
 * processes map beside it; 0 is none. Frames are packed into one word: offset in the low 40 bits,
 * exe_id above, HALO_FRAME_ARENA set when the offset is one in the binary's arena file instead of in
 * the binary itself.
 */
#define HALO_OFF_BITS	      40
#define HALO_OFF_MASK	      ((1ULL << HALO_OFF_BITS) - 1)
#define HALO_FRAME_ARENA      (1ULL << 63)
#define HALO_FRAME_EXE(frame) ((__u32)(((frame) & ~HALO_FRAME_ARENA) >> HALO_OFF_BITS))

#define HALO_MAX_FRAMES	      60     /* deeper frames are cut off: HALO_END_DEPTH */
#define HALO_MAX_EXES	      4096   /* files with an exe_id; more are refused or have none */
#define HALO_MAX_PROCS	      4096   /* enrolled processes; more rise HALO_STAT_PROC_FULL */
#define HALO_MAX_REGIONS      131072 /* executable mappings of all processes, 32 bytes each */
#define HALO_MAX_MAPPED	      1024   /* of one process; those at higher addresses are left out */
#define HALO_MAX_CTXS	      16384  /* contexts per generation; more rise HALO_STAT_CTX_FULL */
#define HALO_MAX_INODES	      8192   /* remembered executables, least recently used go */
#define HALO_MAX_FAULTS	      256    /* processes that die of a fault at a time */
#define HALO_MAX_FAMILIES     256    /* families under audit at a time */
#define HALO_MAX_CPUS	      1024   /* CPUs whose running slice an audit sees at once */
#define HALO_MAX_EDGES	      32768 /* branch edges per generation; more rise HALO_STAT_EDGE_FULL */
#define HALO_MAX_RANGES	      32768 /* ranges per generation; more rise HALO_STAT_RANGE_FULL */
#define HALO_MAX_BRANCHES     64    /* of one branch stack; the deepest that a CPU has */
#define HALO_MAX_FEED	      256   /* branch stacks that halo_branch_feed reads at once */
#define HALO_MAX_ARMS	      8
#define HALO_MAX_LIBRARIES    8 /* enrolled ones that a process is attached with */
#define HALO_PATH_MAX	      128

struct halo_build_id {
	__u32 len;
	__u8 id[20];
};

/* halo_enrolled: struct halo_build_id → struct halo_enrollment */
struct halo_enrollment {
	__u32 exe_id;
	__u32 reserved;
};

/* halo_exe: exe_id (__u32) → struct halo_exe_info. What is mapped only has no text_ members. */
struct halo_exe_info {
	struct halo_build_id build_id;
	__u64 text_vaddr; /* of the executable PT_LOAD with the lowest address, as mm->start_code has it */
	__u64 text_off;	 /* its file offset */
	__u64 text_size; /* bytes in the file; code of further segments is "outside" */
	char path[HALO_PATH_MAX];
};

/*
 * halo_inode: struct halo_inode_key → exe_id (__u32), 0: looked at, not enrolled. The change time
 * makes a file that was written anew a file not seen before.
 */
struct halo_inode_key {
	__u64 dev; /* as in the kernel: super_block.s_dev */
	__u64 ino;
	__u64 ctime_ns;
};

/*
 * Start times are compared in these steps, in ns, since /proc/PID/stat tells no more. A pid can't
 * come round again that soon.
 */
#define HALO_START_STEP 10000000ULL

enum halo_region_kind {
	HALO_REGION_EXE = 1, /* of the program's own file */
	HALO_REGION_LIBRARY,
	HALO_REGION_VDSO,
	HALO_REGION_ARENA,
	HALO_REGION_ANON, /* made at run time, or of a file that could not be looked at */
};

/* halo_region: index (__u32) → struct halo_region: one executable mapping */
struct halo_region {
	__u64 start_addr;
	__u64 end_addr;
	__u64 off;    /* in the file, at start_addr; in the vdso's image or the arena's file */
	__u32 exe_id; /* of the file, or of the binary that the arena belongs to; 0: none */
	__u32 kind;   /* enum halo_region_kind */
};

/*
 * The mappings of a process: @nr regions from @first on, by address, none of which overlap. They are
 * never changed, only replaced, so processes that have the same share them.
 */
struct halo_space {
	__u32 first;
	__u32 nr; /* 0: not known yet */
};

/* halo_proc: thread group id (__u32) → struct halo_proc */
struct halo_proc {
	__u32 exe_id;
	__u32 family;	       /* whose slots it shares; 0: not attached */
	__u64 start_ns;	       /* start since boot: tells a reused pid, see HALO_START_STEP */
	__u64 exec_ns;	       /* when exec was seen: tells images of one process apart */
	__u64 text_start_addr; /* executable code of the main binary: [start, end) */
	__u64 text_end_addr;
	__u64 text_off; /* file offset at text_start_addr */
	struct halo_space space;
	__u64 exec_pages;		   /* executable pages that it had when space was read */
	__u64 ask_ns;			   /* the daemon is not asked to read it again before */
	__u64 refresh_ns;		   /* it is asked then, whatever the number of pages */
	__u64 asked;			   /* times in a row without finding anything new */
	__u32 library[HALO_MAX_LIBRARIES]; /* families of its libraries' slots; 0: none */
};

/* What an event of HALO_EVENT_MAPS asks for waits so long, doubled each time, before it is asked again. */
#define HALO_ASK_NS	  10000000ULL
#define HALO_ASK_DOUBLING 11 /* at most: 20 s */
/* One mapping may take the place of another of the same size: what is sampled is read anew so often. */
#define HALO_REFRESH_NS	      1000000000ULL
#define HALO_REFRESH_DOUBLING 6 /* at most: 64 s */

enum halo_ctx_quality {
	HALO_CTX_LEAF = 1,   /* the sampled address alone is certain */
	HALO_CTX_FP = 2,     /* some callers found by frame pointers: wrong where code has none */
	HALO_CTX_MENDED = 3, /* the same, with the innermost caller put in from the branch stack */
	HALO_CTX_CFI = 4,    /* all by the program's own description of its frames: exact */
};

/* Why a context has no more frames. */
enum halo_ctx_end {
	HALO_END_ROOT = 1, /* it has no caller: the context is whole */
	HALO_END_DEPTH,	   /* HALO_MAX_FRAMES */
	HALO_END_UNMAPPED, /* the next frame is where nothing is known to be mapped */
	HALO_END_NO_RULE,  /* no description of the frame, and no frame pointer */
	HALO_END_READ,	   /* its stack can't be read: not in memory just now */
	HALO_END_STACK,	   /* the caller's frame would not be above */
	HALO_END_REG,	   /* it depends on a register that is not known there */
};

/* halo_ctx_a, halo_ctx_b: struct halo_ctx_key → struct halo_ctx_val, one per generation */
struct halo_ctx_key {
	__u32 exe_id;
	__u8 quality; /* enum halo_ctx_quality */
	__u8 nr;      /* frames used */
	__u8 end;     /* enum halo_ctx_end */
	__u8 reserved;
	__u64 frame[HALO_MAX_FRAMES]; /* leaf first; callers are return addresses, unless a signal
				       came there; 0: of no file */
};

struct halo_ctx_val {
	__u64 count;
};

/*
 * Where a branch leads from and to. An end in no known file (the kernel, code made at run time) has
 * exe_id 0 and offset 0; HALO_EXE_ARENA is set in the exe_id where the offset is one in the binary's
 * arena file.
 */
#define HALO_EXE_ARENA (1U << 23)

/* halo_edge_a, halo_edge_b: struct halo_edge_key → struct halo_edge_val, one per generation */
struct halo_edge_key {
	__u32 from_exe;
	__u32 to_exe;
	__u64 from_off; /* of the branch instruction */
	__u64 to_off;
};

struct halo_edge_val {
	__u64 count;
	__u64 mispredicts;
};

/* halo_range_a, halo_range_b: struct halo_range_key → struct halo_range_val, one per generation */
struct halo_range_key {
	__u32 exe_id;
	__u32 reserved;
	__u64 begin_off; /* where one branch led to */
	__u64 end_off;	 /* of the next branch's instruction: all between was executed */
};

struct halo_range_val {
	__u64 count;
};

/* One entry of a branch stack, laid out as struct perf_branch_entry. */
struct halo_branch {
	__u64 from_addr;
	__u64 to_addr;
	__u64 flags;
};

/* Flags of an entry. */
#define HALO_BRANCH_MISPREDICTED 1ULL
#define HALO_BRANCH_TYPE_SHIFT	 20 /* enum halo_branch_type */
#define HALO_BRANCH_TYPE_MASK	 0xf
#define HALO_BRANCH_SPEC_SHIFT	 24 /* PERF_BR_SPEC_* */
#define HALO_BRANCH_SPEC_MASK	 3

/* As PERF_BR_*; what is not listed is of no interest here. */
enum halo_branch_type {
	HALO_BRANCH_CALL = 4,
	HALO_BRANCH_IND_CALL = 5,
	HALO_BRANCH_RET = 6,
	HALO_BRANCH_COND_CALL = 9,
	HALO_BRANCH_COND_RET = 10,
};

/* Which entries of branch stacks are not believed: bits of halo_branch_filter. */
enum halo_branch_filter {
	HALO_FILTER_ON = 1,	    /* there are branch stacks to be read */
	HALO_FILTER_WRONG_PATH = 2, /* speculated on a path that was not taken (AMD) */
	HALO_FILTER_TWICE = 4,	    /* the newest one told twice, where that can't be true */
	HALO_FILTER_SKYLAKE = 8,    /* the newest one told twice, even where it could be true */
};

/* A walk through one stack, from the newest branch to the oldest. See branch_core.h. */
struct halo_branch_walk {
	__u32 nr;
	__u32 filter;	 /* enum halo_branch_filter */
	__u32 started;	 /* a branch was kept: left is valid */
	__u32 typed;	 /* entries whose type is known */
	__u64 left;	 /* frame that the branch kept last, the next younger one, left from */
	__u64 open_call; /* frame of the newest call that has not returned; 0: none seen */
	__u64 returns;	 /* that wait for their call */
	struct halo_branch branch[HALO_MAX_BRANCHES];
};

/* Who walks a stack: each has scratch memory of its own, since the first interrupts the second. */
enum halo_branch_user {
	HALO_BRANCH_SAMPLE,
	HALO_BRANCH_FEED,
	HALO_BRANCH_USERS,
};

/* halo_branches: per-CPU array by enum halo_branch_user */
struct halo_branches {
	__u64 busy; /* 1 from before the generation is read until the stack is counted */
	struct halo_proc proc;
	struct halo_ctx_key key; /* FEED: the context under way */
	struct halo_branch_walk walk;
	__u32 region; /* the index in halo_region found last */
	__u32 reserved;
};

/* halo_feed: index (__u32) → struct halo_feed: branch stacks for halo_branch_feed, a test program */
struct halo_feed {
	__u32 tgid; /* whose it is; its entry in halo_proc has to be there */
	__u32 nr;
	__u64 ip_addr; /* where the sample was taken; 0: no context to be counted */
	__u64 nr_callers;
	__u64 return_addr[HALO_MAX_FRAMES];	      /* of the callers, innermost first */
	struct halo_branch branch[HALO_MAX_BRANCHES]; /* newest first */
};

/* Argument of the SEC("syscall") program halo_branch_feed. */
struct halo_feed_args {
	__u32 first;  /* index in halo_feed */
	__u32 nr;     /* stacks from there on */
	__u32 filter; /* enum halo_branch_filter */
	__u32 done; /* out: stacks that were counted; the next one met a busy CPU: go on with it */
};

/* Argument of the SEC("syscall") program halo_walk_self. */
struct halo_walk_args {
	__u32 nr;   /* times, HALO_MAX_FEED at most */
	__u32 done; /* out: contexts that were found; others met a busy CPU */
};

/*
 * What is counted: name, member of struct halo_stats, the figure that it is a share of (itself where it
 * is none), meaning. Append only.
 */
#define HALO_STATS(X)                                                                             \
	X(TICKS, ticks, TICKS, "timer or counter events handled")                                 \
	X(SAMPLES, samples, TICKS, "samples of enrolled programs")                                \
	X(KERNEL, kernel, SAMPLES, "samples of enrolled programs inside the kernel")              \
	X(OUTSIDE, outside, SAMPLES, "samples outside of the program's own code")                 \
	X(CTX_FULL, ctx_full, SAMPLES, "samples lost: context table full")                        \
	X(CTX_BUSY, ctx_busy, SAMPLES, "samples lost: nested or contended update")                \
	X(PROC_FULL, proc_full, PROC_FULL, "processes not followed: process table full")          \
	X(EVENT_LOST, event_lost, EVENT_LOST, "events lost: ring buffer full")                    \
	X(STALE_PID, stale_pid, TICKS, "samples dropped: pid reused")                             \
	X(UNMAPPED, unmapped, SAMPLES, "samples at addresses not known to be mapped")             \
	X(STACKS, stacks, SAMPLES, "samples with a branch stack")                                 \
	X(NO_STACK, no_stack, SAMPLES, "samples without a branch stack, though the CPU has them") \
	X(BRANCHES, branches, BRANCHES, "branches seen")                                          \
	X(WRONG_PATH, wrong_path, BRANCHES, "branches dropped: speculated on a wrong path")       \
	X(TWICE, twice, BRANCHES, "branches dropped: the newest one told twice")                  \
	X(ELSEWHERE, elsewhere, BRANCHES, "branches dropped: both ends in no known file")         \
	X(TO_KERNEL, to_kernel, BRANCHES, "branches from or to a kernel address")                 \
	X(EDGE_FULL, edge_full, BRANCHES, "branches lost: edge table full")                       \
	X(EDGE_BUSY, edge_busy, BRANCHES, "branches lost: nested or contended update")            \
	X(RANGE_BAD, range_bad, BRANCHES, "ranges dropped: they end before they begin")           \
	X(RANGE_FULL, range_full, BRANCHES, "ranges lost: range table full")                      \
	X(RANGE_BUSY, range_busy, BRANCHES, "ranges lost: nested or contended update")            \
	X(CALLERS, callers, STACKS, "callers checked against the branch stack")                   \
	X(WRONG_CALLER, wrong_caller, CALLERS, "callers that the branch stack contradicts")       \
	X(MENDED, mended, CALLERS, "callers that were put in from the branch stack")              \
	X(SWITCH_MISSED, switch_missed, SWITCH_MISSED, "switches that the kernel did not tell of")

enum halo_stat {
#define HALO_STAT_ENUM(name, member, of, text) HALO_STAT_##name,
	HALO_STATS(HALO_STAT_ENUM)
#undef HALO_STAT_ENUM
	HALO_STAT_MAX
};

/* halo_stats: per-CPU array of one: a counter per enum halo_stat, in its order. */
struct halo_stats {
#define HALO_STAT_MEMBER(name, member, of, text) __u64 member;
	HALO_STATS(HALO_STAT_MEMBER)
#undef HALO_STAT_MEMBER
};

_Static_assert(sizeof(struct halo_stats) == HALO_STAT_MAX * sizeof(__u64), "one per kind");

/* halo_fault: thread group id (__u32) → struct halo_fault: its last fault, which may turn out to be fatal */
struct halo_fault {
	__u64 rip_addr;
	__u32 signal;
	__u32 reserved;
};

/* halo_events: ring buffer of struct halo_event */
enum halo_event_kind {
	HALO_EVENT_EXEC = 1, /* an enrolled binary was executed; halo_proc has its entry */
	HALO_EVENT_LOOK,     /* an executable not seen before was executed: read its build-id */
	HALO_EVENT_FORK,     /* child of an enrolled process; halo_proc has its entry */
	HALO_EVENT_EXIT, /* the last thread of an enrolled process is gone, or it executed another */
	HALO_EVENT_MAPS, /* what it has mapped is not what halo_proc says: read it */
};

struct halo_event {
	__u32 kind; /* enum halo_event_kind */
	__u32 tgid;
	__u32 parent; /* FORK: thread group id of the parent */
	__u32 exe_id;
	__u32 code;   /* EXIT: exit_code as wait(2) has it */
	__u32 family; /* FORK: whose slots it shares; 0: its parent was not attached */
	__u64 start_ns;
	__u64 rip_addr;	  /* EXIT by a fault of the program: the instruction; else 0 */
	__u64 exec_ns;	  /* MAPS */
	__u64 exec_pages; /* MAPS: executable pages, before anyone read what they are */
	struct halo_inode_key inode;
};

/*
 * Argument of halo_proc_set, which the daemon runs: change an entry in place, if it still is of the
 * same process and image.
 */
struct halo_proc_args {
	__u32 tgid;
	__u32 what; /* enum halo_proc_what */
	__u64 start_ns;
	__u64 exec_ns;
	__u64 exec_pages;
	__u64 wait_ns; /* the daemon is not asked again before so much time has passed */
	struct halo_space space;
	__u32 family;
	__u32 reserved;
};

enum halo_proc_what {
	HALO_PROC_FAMILY = 1,
	HALO_PROC_SPACE = 2, /* space and exec_pages */
	HALO_PROC_ENTER = 4, /* family, of a library; once, if it is there already */
	HALO_PROC_LEAVE = 8, /* the same */
};

/* halo_cost: family (__u32) → struct halo_cost: exact on-CPU time while an audit lasts */
struct halo_cost {
	__u64 since_ns; /* CLOCK_MONOTONIC: nothing before counts */
	__u64 arm;	/* the arm whose turn it is */
	__u64 ns[HALO_MAX_ARMS];
	__u64 switched_ns[HALO_MAX_ARMS]; /* ns as they were when the arm's turn began */
};

/* halo_slice: CPU (__u32) → struct halo_slice: what runs there, while any audit lasts */
struct halo_slice {
	__u64 start_ns; /* not yet accounted since; 0: a switch is under way, or none was seen */
	__u32 tgid;	/* HALO_SLICE_IDLE: idle; 0: not known yet */
	__u32 reserved[13]; /* a cache line */
};

#define HALO_SLICE_IDLE (~0U)

/* Argument of halo_cost_switch, halo_flush and halo_arm, which the daemon runs. */
struct halo_cost_args {
	__u32 family;
	__u32 arm;    /* that begins now */
	__u64 now_ns; /* halo_flush: CLOCK_MONOTONIC, up to which time is accounted */
};

#endif
