/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_KERNEL_H
#define HALO_KERNEL_H

/*
 * The kernel half as the daemon sees it: loads and pins the BPF programs and maps, samples enrolled
 * binaries, tells of their processes, and keeps the exact on-CPU time of a family under audit.
 */
#include <stdbool.h>
#include <stdint.h>

#include <halo_bpf.h>

#include "../lib/err.h"
#include "../lib/prepared.h"
#include "../unwind/table.h"

#define HALO_PIN_DIR	  "/sys/fs/bpf/halo"
#define HALO_DEFAULT_RATE 199 /* prime, so that it does not beat with timers */

struct halo_kernel;

struct halo_kernel_opts {
	/* Samples per CPU and second; the largest prime below is taken. 0: HALO_DEFAULT_RATE. */
	unsigned int rate_hz;
	/* Sample by hardware counters on kernels that are known to freeze by it. */
	bool allow_unsafe;
	/* File with BTF of this very kernel, for one that shows none itself; NULL: /sys/kernel/btf. */
	const char *btf;
	const char *root; /* tests: where sys and proc of another machine lie; NULL: "" */
	/*
	 * Kernel memory for the frame descriptions of all files, in units of 256 KiB, which do for some
	 * 6 to 20 MB of code each; 0: the default, 32.
	 */
	unsigned int table_buckets;
	bool no_pin; /* tests: leave /sys/fs/bpf alone */
	bool feed;   /* tests: load halo_branch_feed, and pin it, and halo_walk_self */
	bool as_old; /* tests: do without what kernels before 5.15 lack */
};

/* Called for each event, in order. */
typedef void (*halo_event_fn)(void *ctx, const struct halo_event *event);
/* Called for each context with its count since the last drain. */
typedef void (*halo_drain_fn)(void *ctx, const struct halo_ctx_key *key, uint64_t count);

typedef void (*halo_edge_fn)(void *ctx, const struct halo_edge_key *key,
			     const struct halo_edge_val *val);
typedef void (*halo_range_fn)(void *ctx, const struct halo_range_key *key, uint64_t count);

/* Load, pin, attach. Errors say which feature is missing and what that costs. */
int halo_kernel__open(const struct halo_kernel_opts *opts, halo_event_fn on_event, void *ctx,
		      struct halo_kernel **out, struct halo_err *err);
/* Detach, unpin, free. */
void halo_kernel__close(struct halo_kernel *k);

/* What samples are taken by, best first. */
enum halo_tier {
	HALO_TIER_NONE,
	HALO_TIER_BRANCHES, /* a counter that records the last branches */
	HALO_TIER_CYCLES,
	HALO_TIER_CPU_CLOCK,
};

/*
 * The best tier in use on any CPU, its name ("branches", "cycles", "cpu-clock"), and in words what
 * exactly samples which CPUs, and why nothing better does.
 */
enum halo_tier halo_kernel__tier(const struct halo_kernel *k);
const char *halo_kernel__tier_name(const struct halo_kernel *k);
const char *halo_kernel__tier_reason(const struct halo_kernel *k);
/* Samples per CPU and second. */
unsigned int halo_kernel__rate(const struct halo_kernel *k);
/* CPUs that are sampled, and those that are online. @online may be NULL. */
unsigned int halo_kernel__sampled_cpus(const struct halo_kernel *k, unsigned int *online);
/* Sample CPUs that came online since the last call. To be called every second or so. */
void halo_kernel__check_cpus(struct halo_kernel *k);

/* A descriptor that polls readable when events wait, and the call that delivers them. */
int halo_kernel__event_fd(const struct halo_kernel *k);
int halo_kernel__poll(struct halo_kernel *k);

int halo_kernel__enroll(struct halo_kernel *k, uint32_t exe_id, const struct halo_prepared *p,
			const char *path, struct halo_err *err);
/* What stands for a number. -ENOENT: nothing. */
int halo_kernel__get_exe(struct halo_kernel *k, uint32_t exe_id, struct halo_exe_info *info);
int halo_kernel__unenroll(struct halo_kernel *k, uint32_t exe_id, const struct halo_buildid *id);
/*
 * Remember what an executable file is, so that its next exec needs no look. exe_id 0: nothing.
 * by file: stat(2) and the kernel disagree about files of some filesystems (overlay, btrfs), which
 * then stay unknown. by key: the answer to HALO_EVENT_LOOK, right everywhere.
 */
int halo_kernel__know_inode(struct halo_kernel *k, int fd, uint32_t exe_id);
int halo_kernel__know_key(struct halo_kernel *k, const struct halo_inode_key *key, uint32_t exe_id);
/* There is no answer to a HALO_EVENT_LOOK: ask again at the file's next exec. */
int halo_kernel__forget_key(struct halo_kernel *k, const struct halo_inode_key *key);

/* A mapped file that is not enrolled: what stands for it in frames. */
int halo_kernel__set_exe(struct halo_kernel *k, uint32_t exe_id, const struct halo_buildid *id,
			 const char *path);

/* Whatever is known by that number, tables too. */
void halo_kernel__del_exe(struct halo_kernel *k, uint32_t exe_id);

int halo_kernel__set_proc(struct halo_kernel *k, uint32_t tgid, const struct halo_proc *proc);
int halo_kernel__get_proc(struct halo_kernel *k, uint32_t tgid, struct halo_proc *proc);
int halo_kernel__del_proc(struct halo_kernel *k, uint32_t tgid);
/*
 * Change an entry in place, if it still is about the process and image that @proc was read of:
 * else -ESRCH. set_regions: @v is by address, without overlaps; @exec_pages as the event that asked
 * has it, 0: not known, so that the next sample asks; not within @wait_ns. -ENOSPC: no room in halo_region.
 */
int halo_kernel__set_family(struct halo_kernel *k, uint32_t tgid, const struct halo_proc *proc,
			    uint32_t family);
/* A library's family, beside that of the executable. -ENOSPC: HALO_MAX_LIBRARIES are there. */
int halo_kernel__set_library(struct halo_kernel *k, uint32_t tgid, const struct halo_proc *proc,
			     uint32_t family, bool enter);
int halo_kernel__set_regions(struct halo_kernel *k, uint32_t tgid, const struct halo_proc *proc,
			     uint64_t exec_pages, uint64_t wait_ns, const struct halo_region *v,
			     size_t n);

/*
 * By what the frames of a file, or of the images in a binary's arena, are left; in the place of what
 * was there. -ENOSPC: no room in halo_words.
 */
int halo_kernel__set_table(struct halo_kernel *k, uint32_t exe_id, bool is_arena,
			   const struct halo_unwind_table *table);
void halo_kernel__del_table(struct halo_kernel *k, uint32_t exe_id, bool is_arena);

struct halo_tables_info {
	unsigned int tables;
	uint64_t used, size; /* bytes */
	uint64_t refused;    /* tables that found no room */
};
void halo_kernel__tables(const struct halo_kernel *k, struct halo_tables_info *out);

/* What the mappings of all processes take. */
struct halo_spaces_info {
	unsigned int spaces;  /* different ones */
	unsigned int regions; /* of HALO_MAX_REGIONS, with those that are free again */
	uint64_t refused;     /* times that the mappings of a process found no room */
};
void halo_kernel__spaces(const struct halo_kernel *k, struct halo_spaces_info *out);
/*
 * Set those exe_ids that a process may still have mapped, or samples name. What a process has let go of
 * is told for two calls more. Not to be called more often than every second: no sample takes so long.
 */
void halo_kernel__mapped(struct halo_kernel *k, bool mapped[HALO_MAX_EXES]);

/* Switch generations and hand over, then clear, all that the old one holds. */
int halo_kernel__drain(struct halo_kernel *k, halo_drain_fn fn, void *ctx);

/* Who takes the branches of a drain: their edges, and the ranges between. NULL: they are dropped. */
void halo_kernel__on_branches(struct halo_kernel *k, halo_edge_fn edge, halo_range_fn range,
			      void *ctx);
/* Branch stacks are read with each sample. */
bool halo_kernel__has_branches(const struct halo_kernel *k);
/*
 * Tests: count recorded branch stacks, HALO_MAX_FEED at most, as if they were samples' (opts.feed).
 * @filter: enum halo_branch_filter. 0, or -errno: -ESRCH when the process is not in halo_proc.
 */
int halo_kernel__feed(struct halo_kernel *k, const struct halo_feed *stacks, uint32_t n,
		      uint32_t filter);

/* Totals over all CPUs, by enum halo_stat. */
int halo_kernel__stats(struct halo_kernel *k, uint64_t stats[HALO_STAT_MAX]);

/*
 * Exact on-CPU time of a family. begin: start keeping it, with @arm first. switch: time up to now
 * goes to the arm that was running, and @arm begins; totals so far come back in @ns. end: stop.
 */
int halo_kernel__cost_begin(struct halo_kernel *k, uint32_t family, uint32_t arm);
int halo_kernel__cost_switch(struct halo_kernel *k, uint32_t family, uint32_t arm, uint64_t ns[8]);
void halo_kernel__cost_end(struct halo_kernel *k, uint32_t family);

/* One row of what doctor tells. */
struct halo_feature {
	const char *name;
	const char *since;   /* kernel version, NULL or "" where there is none */
	const char *commit;  /* of the kernel, that brought it; the same */
	bool required;	     /* halo-bpf start can't work without */
	const char *without; /* what is lost where it is missing */
	const char *remedy;  /* NULL: none */
	int (*probe)(char *detail, size_t size); /* 1: there, 0: not, with the reason in @detail */
};

/* features.c: what the kernel can do. environment.c: how the machine is set up. */
/* For the probes: halo_kernel_opts.btf. */
void halo_features__set_btf(const char *path);

extern const struct halo_feature halo_features[];
extern const size_t halo_features_count;
extern const struct halo_feature halo_environment[];
extern const size_t halo_environment_count;

#endif
