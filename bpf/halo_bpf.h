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

#define HALO_MAX_FRAMES	      24     /* deeper frames are cut off: halo_ctx_key.cut is set */
#define HALO_MAX_EXES	      4096   /* files with an exe_id; more are refused or have none */
#define HALO_MAX_PROCS	      4096   /* enrolled processes; more rise HALO_STAT_PROC_FULL */
#define HALO_MAX_REGIONS      131072 /* executable mappings of all processes, 32 bytes each */
#define HALO_MAX_MAPPED	      1024   /* of one process; those at higher addresses are left out */
#define HALO_MAX_CTXS	      16384  /* contexts per generation; more rise HALO_STAT_CTX_FULL */
#define HALO_MAX_INODES	      8192   /* remembered executables, least recently used go */
#define HALO_MAX_FAULTS	      256    /* processes that die of a fault at a time */
#define HALO_MAX_FAMILIES     256    /* families under audit at a time */
#define HALO_MAX_CPUS	      1024   /* CPUs whose running slice an audit sees at once */
#define HALO_MAX_ARMS	      8
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
	__u64 exec_pages; /* executable pages that it had when space was read */
	__u64 ask_ns;	  /* the daemon is not asked to read it again before */
	__u64 refresh_ns; /* it is asked then, whatever the number of pages */
	__u64 asked;	  /* times in a row without finding anything new */
};

/* What an event of HALO_EVENT_MAPS asks for waits so long, doubled each time, before it is asked again. */
#define HALO_ASK_NS	  10000000ULL
#define HALO_ASK_DOUBLING 11 /* at most: 20 s */
/* One mapping may take the place of another of the same size: what is sampled is read anew so often. */
#define HALO_REFRESH_NS	      1000000000ULL
#define HALO_REFRESH_DOUBLING 6 /* at most: 64 s */

enum halo_ctx_quality {
	HALO_CTX_LEAF = 1, /* the sampled address alone is certain */
	HALO_CTX_FP = 2,   /* callers found by frame pointers: wrong where code has none */
};

/* halo_ctx_a, halo_ctx_b: struct halo_ctx_key → struct halo_ctx_val, one per generation */
struct halo_ctx_key {
	__u32 exe_id;
	__u8 quality; /* enum halo_ctx_quality */
	__u8 nr;      /* frames used */
	__u8 cut;     /* 1: the stack went on */
	__u8 reserved;
	__u64 frame[HALO_MAX_FRAMES]; /* leaf first; callers are return addresses; 0: outside */
};

struct halo_ctx_val {
	__u64 count;
};

/* What is counted. Append only, to struct halo_stats too. */
#define HALO_STATS(X)                                                                          \
	X(TICKS, "ticks", "timer or counter events handled")                                   \
	X(SAMPLES, "samples", "samples of enrolled programs")                                  \
	X(KERNEL, "kernel", "samples of enrolled programs inside the kernel (of those above)") \
	X(OUTSIDE, "outside", "samples outside of the program's own code (of those above)")    \
	X(CTX_FULL, "ctx_full", "samples lost: context table full")                            \
	X(CTX_BUSY, "ctx_busy", "samples lost: nested or contended update")                    \
	X(PROC_FULL, "proc_full", "processes not followed: process table full")                \
	X(EVENT_LOST, "event_lost", "events lost: ring buffer full")                           \
	X(STALE_PID, "stale_pid", "samples dropped: pid reused")                               \
	X(UNMAPPED, "unmapped", "samples at addresses not known to be mapped (of those above)")

enum halo_stat {
#define HALO_STAT_ENUM(name, key, text) HALO_STAT_##name,
	HALO_STATS(HALO_STAT_ENUM)
#undef HALO_STAT_ENUM
	HALO_STAT_MAX
};

/* halo_fault: thread group id (__u32) → struct halo_fault: faults that are about to be fatal */
struct halo_fault {
	__u64 rip_addr;
};

/* halo_stats: per-CPU array of one: a counter per enum halo_stat, in its order. */
struct halo_stats {
	__u64 ticks;
	__u64 samples;
	__u64 kernel;
	__u64 outside;
	__u64 ctx_full;
	__u64 ctx_busy;
	__u64 proc_full;
	__u64 event_lost;
	__u64 stale_pid;
	__u64 unmapped;
};

_Static_assert(sizeof(struct halo_stats) == HALO_STAT_MAX * sizeof(__u64), "one per kind");

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
 * Argument of the SEC("syscall") program halo_proc_set: change an entry in place, if it still is
 * of the same process and image.
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
};

/* halo_cost: family (__u32) → struct halo_cost: exact on-CPU time while an audit lasts */
struct halo_cost {
	__u64 since_ns; /* CLOCK_MONOTONIC: nothing before counts */
	__u64 arm;	/* the arm whose turn it is */
	__u64 ns[HALO_MAX_ARMS];
};

/* halo_slice: CPU (__u32) → struct halo_slice: what runs there, while any audit lasts */
struct halo_slice {
	__u64 start_ns; /* not yet accounted since; 0: a switch is under way, or none was seen */
	__u32 tgid;	/* HALO_SLICE_IDLE: idle; 0: not known yet */
	__u32 reserved[13]; /* a cache line */
};

#define HALO_SLICE_IDLE (~0U)

/* Argument of the SEC("syscall") program halo_cost_switch. */
struct halo_cost_args {
	__u32 family;
	__u32 arm;		 /* in: the arm that begins now */
	__u64 ns[HALO_MAX_ARMS]; /* out: totals per arm up to now */
};

#endif
