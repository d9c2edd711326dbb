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

#define HALO_DEFAULT_RATE 199 /* prime, so that it does not beat with timers */

struct halo_kernel {
	struct halo_bpf *skel;
	unsigned int rate_hz;
	bool pinned;

	const char *tier;
	char tier_reason[512];
	struct bpf_link **samplers; /* one per CPU that is online */
	size_t n_samplers;

	struct ring_buffer *events;
	halo_event_fn on_event;
	void *event_ctx;

	struct bpf_link *switch_link; /* NULL: no family is under audit */
	unsigned int audits;
};

/* tiers.c */
int halo_tiers__attach(struct halo_kernel *k, struct halo_err *err);
void halo_tiers__detach(struct halo_kernel *k);

/* events.c */
int halo_events__open(struct halo_kernel *k, struct halo_err *err);

/* mounts.c: mounted, or why not. */
int halo_mounts__ensure_bpffs(struct halo_err *err);
int halo_mounts__ensure_tracefs(struct halo_err *err);
bool halo_mounts__has_bpffs(void);
bool halo_mounts__has_tracefs(void);

/*
 * perf.c: the events that tiers try and doctor reports. A descriptor, or -errno. @rate_hz per second
 * on @cpu, of all processes.
 */
enum halo_perf_kind {
	HALO_PERF_CYCLES,
	HALO_PERF_CPU_CLOCK,
	HALO_PERF_BRANCHES, /* cycles with branch records */
};
int halo_perf__open(enum halo_perf_kind kind, int cpu, unsigned int rate_hz);
/* What an error of halo_perf__open() means, in words. */
const char *halo_perf__strerror(int err);
/* One flag per possible CPU in *mask (caller frees), *n of them: is it online? */
int halo_perf__online(bool **mask, int *n);

/*
 * denylist.c: whether this kernel is known to freeze when user memory is read in an NMI. The release
 * is that of uname(2); @why (of @size bytes) gets the sentence for people.
 */
#define HALO_DENYLIST_OVERRIDE "HALO_IGNORE_KERNEL_DENYLIST"
bool halo_denylist__nmi_reads_freeze(const char *release, char *why, size_t size);
bool halo_denylist__blocks(char *why, size_t size);

#endif
