/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_KERNEL_INTERNAL_H
#define HALO_KERNEL_INTERNAL_H

/* What the files of this folder share. */
#include <stddef.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "../lib/util.h"
#include "halo.skel.h"
#include "kernel.h"

struct halo_perf_event;

/* What samples a CPU. All zero: nothing does. */
struct halo_sampler {
	struct bpf_link *link;
	const struct halo_perf_event *event;
};

/*
 * cpus.c: sets of CPUs, one flag per CPU below @n; others are left out. From "0-3,8,10-11", from a
 * file, or those that are online. -EINVAL: not such a text.
 */
int halo_cpus__parse(const char *text, bool *mask, int n);
int halo_cpus__read(const char *path, bool *mask, int n);
int halo_cpus__online(bool *mask, int n);

/* pmu.c: the counters of the CPUs' cores. */
enum halo_branch_unit {
	HALO_BRANCHES_NONE, /* none that is known */
	HALO_BRANCHES_INTEL,
	HALO_BRANCHES_INTEL_ARCH,
	HALO_BRANCHES_AMD_BRS, /* Zen 3 */
	HALO_BRANCHES_AMD_V2,  /* Zen 4 and later */
	HALO_BRANCHES_BRBE,    /* ARM v9.2 */
	HALO_BRANCHES_ANY,     /* in the event table alone: whatever there is */
};

#define HALO_MAX_PMUS 8 /* kinds of cores in one machine */

struct halo_pmu {
	char name[32];
	uint32_t type;	       /* of perf_event_attr */
	unsigned int branches; /* entries that it records; 0: none, or it does not tell */
	bool has_brs;
	bool is_one_of_many; /* a hybrid CPU: events name the unit that they mean */
	enum halo_branch_unit unit;
	bool *cpus;
};

struct halo_pmus {
	struct halo_pmu pmu[HALO_MAX_PMUS];
	size_t n;
};

/*
 * @root: the folder that holds sys and proc, "" for this machine's. Virtual machines mostly have no
 * such unit, which is no error. Freed by halo_pmus__free().
 */
int halo_pmus__read(const char *root, int n_cpus, struct halo_pmus *out);
void halo_pmus__free(struct halo_pmus *pmus);
/* The one that counts for @cpu; NULL: none. */
const struct halo_pmu *halo_pmus__of(const struct halo_pmus *pmus, int cpu);

#define HALO_BRANCH_ATTEMPTS 2

/* perf.c: one way to take samples. */
struct halo_perf_event {
	enum halo_tier tier;
	const char *name;	    /* in words */
	enum halo_branch_unit unit; /* whose way it is */
	uint32_t type;		    /* of perf_event_attr; RAW: the unit's own number */
	uint64_t config;
	bool fixed_period;			     /* refuses frequencies */
	uint64_t branch_types[HALO_BRANCH_ATTEMPTS]; /* what to ask for, best first; 0: nothing */
};

/* Best first. */
extern const struct halo_perf_event halo_perf_events[];
extern const size_t halo_perf_events_count;

/* Whether that way is one for a CPU with that unit, or with none (NULL). */
bool halo_perf__applies(const struct halo_perf_event *event, const struct halo_pmu *pmu);
struct perf_event_attr;
/* The @attempt-th of the forms that are asked for in turn. @rate_hz per second. */
void halo_perf__attr(const struct halo_perf_event *event, const struct halo_pmu *pmu,
		     unsigned int rate_hz, unsigned int attempt, struct perf_event_attr *attr);
/* Samples of all processes on @cpu. A descriptor, or -errno. */
int halo_perf__open(const struct halo_perf_event *event, const struct halo_pmu *pmu, int cpu,
		    unsigned int rate_hz);
/* What an error of halo_perf__open() means, in words. */
const char *halo_perf__strerror(int err);
/* The largest prime that is at most @n; @n itself below 2. */
uint64_t halo_perf__prime(uint64_t n);
/* What kernel.perf_event_max_sample_rate allows now; the kernel lowers it under load. */
unsigned int halo_perf__max_rate(void);

#define HALO_DEFAULT_BUCKETS 32 /* 8 MiB of unwind tables */

struct halo_kernel {
	struct halo_bpf *skel;
	unsigned int rate_hz;
	unsigned int table_buckets;
	bool pinned;
	bool feed;
	bool as_old;
	const char *btf; /* see halo_kernel_opts */
	bool no_exchange; /* the kernel has no atomic exchange: see cost.bpf.h */

	int n_cpus; /* that there can be */
	struct halo_pmus pmus;
	struct halo_sampler *samplers; /* by CPU */
	bool *online;
	int hotplug_fd;
	char unsafe[256]; /* why events in NMIs are not used; empty: they are */
	char tier_reason[1024];

	struct ring_buffer *events;
	halo_event_fn on_event;
	void *event_ctx;

	struct halo_spaces *spaces;
	struct halo_tables *tables;
	halo_drain_fn on_context; /* while a drain lasts */
	void *drain_ctx;
	struct {
		halo_edge_fn edge;
		halo_range_fn range;
		void *ctx;
	} branches;

	struct bpf_link *switch_link; /* NULL: no family is under audit */
	unsigned int audits;
};

/* features.c: atomic exchange, and bpf_task_pt_regs() on the current task. */
bool halo_features__has_exchange(void);
bool halo_features__has_regs(void);

/* tiers.c */
int halo_tiers__open(struct halo_kernel *k, const char *root, struct halo_err *err);
void halo_tiers__close(struct halo_kernel *k);
/* What sampled @cpu is gone with the CPU. */
void halo_tiers__drop(struct halo_kernel *k, int cpu);

/* hotplug.c: CPUs that come and go. A descriptor, or -errno. */
int halo_hotplug__open(void);
/* Drop the samplers of CPUs that went, or came back, since the last call. */
void halo_hotplug__read(struct halo_kernel *k);
/* The CPU that a device event tells has come or gone; -1: it tells something else. */
int halo_hotplug__parse(const char *message);

/* branches.c: before the programs are loaded, and after. */
int halo_branches__prepare(struct halo_kernel *k);
/* A CPU with that unit is sampled with branch records: read them, and believe what is to be believed. */
void halo_branches__on(struct halo_kernel *k, const struct halo_pmu *pmu);

/* events.c */
int halo_events__open(struct halo_kernel *k, struct halo_err *err);

/* spaces.c */
int halo_spaces__open(struct halo_kernel *k);
void halo_spaces__close(struct halo_kernel *k);

/* tables.c. A drain that has seen all samples end reclaims what tables took that were replaced. */
int halo_tables__set_size(struct halo_kernel *k, unsigned int buckets);
int halo_tables__open(struct halo_kernel *k);
void halo_tables__close(struct halo_kernel *k);
void halo_tables__reclaim(struct halo_kernel *k);

/* mounts.c: mounted, or why not. */
int halo_mounts__ensure_bpffs(struct halo_err *err);
int halo_mounts__ensure_tracefs(struct halo_err *err);
bool halo_mounts__has_bpffs(void);
bool halo_mounts__has_tracefs(void);

/*
 * denylist.c: whether this kernel is known to freeze when user memory is read in an NMI; @why (of @size
 * bytes) gets the sentence for people. nmi_reads_freeze: by a version of the stable series, "6.1.35".
 * upstream: that version from uname(2)'s release and version, and from Ubuntu's
 * /proc/version_signature, NULL where there is none.
 */
bool halo_denylist__blocks(char *why, size_t size);
/* The stable version that this kernel is based on, "6.1.192"; empty: it does not tell. */
void halo_denylist__version(char *buf, size_t size);
bool halo_denylist__nmi_reads_freeze(const char *release, char *why, size_t size);
const char *halo_denylist__upstream(const char *release, const char *version,
				    const char *signature);

#endif
