// SPDX-License-Identifier: BSD-2-Clause
/*
 * Where the regions of processes lie in halo_region. A space is a row of regions in a block of 2^n of
 * them. It is never changed, and shared by all processes that have the same mappings: forked ones,
 * and those of a program that is loaded at the same place each time.
 *
 * Who uses a space is not counted, since processes fork and end in the kernel alone: now and then
 * those that halo_proc names are marked. One that was not named twice in a row is free: any sample or
 * fork that had its number is long over.
 */
#include <string.h>
#include <sys/mman.h>

#define LOG_TAG "kernel"
#include "../lib/log.h"
#include "internal.h"

#define MIN_BLOCK 3  /* log2 of regions */
#define MAX_BLOCK 10 /* of HALO_MAX_MAPPED */
#define N_BLOCKS  (MAX_BLOCK - MIN_BLOCK + 1)
#define SWEEP_AT  16 /* sweep when so many spaces were made since, or at least a quarter of all */

_Static_assert(1 << MAX_BLOCK == HALO_MAX_MAPPED, "the largest block takes the most regions");

struct space {
	struct halo_space at; /* nr 0: the block is free */
	uint32_t hash;
	uint8_t block;	/* log2 of its regions, less MIN_BLOCK */
	uint8_t unused; /* sweeps in a row that did not find it */
	int32_t next;	/* of the free ones of its size; -1: last */
};

struct halo_spaces {
	struct halo_region *regions; /* halo_region itself */
	uint32_t used;		     /* regions in blocks, free or not */
	struct space *v;
	size_t n;
	int32_t free[N_BLOCKS];
	size_t made; /* since the last sweep */
	uint64_t refused;
	bool full; /* told already */
};

#define REGIONS_SIZE (HALO_MAX_REGIONS * sizeof(struct halo_region))

int halo_spaces__open(struct halo_kernel *k)
{
	struct halo_spaces *s = calloc(1, sizeof(*s));
	void *map;

	if (!s)
		return -ENOMEM;
	map = mmap(NULL, REGIONS_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
		   bpf_map__fd(k->skel->maps.halo_region), 0);
	if (map == MAP_FAILED) {
		free(s);
		return -errno;
	}
	s->regions = map;
	for (int i = 0; i < N_BLOCKS; i++)
		s->free[i] = -1;
	k->spaces = s;
	return 0;
}

void halo_spaces__close(struct halo_kernel *k)
{
	if (!k->spaces)
		return;
	munmap(k->spaces->regions, REGIONS_SIZE);
	free(k->spaces->v);
	free(k->spaces);
	k->spaces = NULL;
}

/* FNV-1a */
static uint32_t hash(const struct halo_region *v, size_t n)
{
	const uint8_t *at = (const uint8_t *)v;
	uint32_t h = 2166136261U;

	for (size_t i = 0; i < n * sizeof(*v); i++)
		h = (h ^ at[i]) * 16777619U;
	return h;
}

static struct space *find_same(struct halo_spaces *s, const struct halo_region *v, size_t n,
			       uint32_t h)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].at.nr == n && s->v[i].hash == h &&
		    !memcmp(&s->regions[s->v[i].at.first], v, n * sizeof(*v)))
			return &s->v[i];
	return NULL;
}

static int compare_first(const void *a, const void *b)
{
	const struct space *const *x = a, *const *y = b;

	return ((*x)->at.first > (*y)->at.first) - ((*x)->at.first < (*y)->at.first);
}

/* The spaces in use, by place. */
static struct space **sorted(struct halo_spaces *s, size_t *n)
{
	struct space **v = calloc(s->n ?: 1, sizeof(struct space *));

	*n = 0;
	for (size_t i = 0; v && i < s->n; i++)
		if (s->v[i].at.nr)
			v[(*n)++] = &s->v[i];
	if (v)
		qsort(v, *n, sizeof(struct space *), compare_first);
	return v;
}

static void mark(struct space **v, size_t n, uint32_t first)
{
	const struct space key = {.at.first = first}, *const at = &key;
	struct space **found = bsearch(&at, v, n, sizeof(struct space *), compare_first);

	if (found)
		(*found)->unused = 0;
}

static void sweep(struct halo_kernel *k)
{
	struct halo_spaces *s = k->spaces;
	struct halo_proc proc;
	struct space **v;
	uint32_t tgid;
	size_t n;
	int err;

	v = sorted(s, &n);
	if (!v)
		return;
	for (size_t i = 0; i < n; i++)
		v[i]->unused++;
	s->made = 0;
	err = bpf_map__get_next_key(k->skel->maps.halo_proc, NULL, &tgid, sizeof(tgid));
	for (size_t i = 0; !err && i < 2 * HALO_MAX_PROCS; i++) {
		if (!halo_kernel__get_proc(k, tgid, &proc) && proc.space.nr)
			mark(v, n, proc.space.first);
		err = bpf_map__get_next_key(k->skel->maps.halo_proc, &tgid, &tgid, sizeof(tgid));
	}
	/* Entries that came and went may have hidden others: nothing is freed after such a walk. */
	for (size_t i = 0; i < n; i++) {
		if (err != -ENOENT || v[i]->unused < 2)
			continue;
		v[i]->at.nr = 0;
		v[i]->next = s->free[v[i]->block];
		s->free[v[i]->block] = v[i] - s->v;
	}
	free(v);
}

void halo_kernel__mapped(struct halo_kernel *k, bool mapped[HALO_MAX_EXES])
{
	struct halo_spaces *s = k->spaces;

	sweep(k);
	for (size_t i = 0; i < s->n; i++)
		for (uint32_t j = 0; j < s->v[i].at.nr; j++)
			mapped[s->regions[s->v[i].at.first + j].exe_id % HALO_MAX_EXES] = true;
}

static unsigned int block_of(size_t n)
{
	unsigned int block = 0;

	while ((1UL << (block + MIN_BLOCK)) < n)
		block++;
	return block;
}

/* From the free ones of that size, or new. NULL: no room. */
static struct space *allocate(struct halo_spaces *s, unsigned int block)
{
	uint32_t size = 1U << (block + MIN_BLOCK);
	struct space *v;

	if (s->free[block] >= 0) {
		v = &s->v[s->free[block]];
		s->free[block] = v->next;
		return v;
	}
	if (s->used + size > HALO_MAX_REGIONS)
		return NULL;
	v = reallocarray(s->v, s->n + 1, sizeof(*v));
	if (!v)
		return NULL;
	s->v = v;
	v += s->n++;
	*v = (struct space){.at.first = s->used, .block = block};
	s->used += size;
	return v;
}

static struct space *get_space(struct halo_kernel *k, const struct halo_region *v, size_t n)
{
	struct halo_spaces *s = k->spaces;
	uint32_t h = hash(v, n);
	struct space *space;

	if (s->made >= SWEEP_AT && s->made >= s->n / 4)
		sweep(k);
	space = find_same(s, v, n, h);
	if (space) {
		space->unused = 0;
		return space;
	}
	space = allocate(s, block_of(n));
	if (!space) {
		s->refused++;
		if (!s->full)
			log_warn("no room for the mappings of more processes: samples in their "
				 "libraries have no place");
		s->full = true;
		return NULL;
	}
	memcpy(&s->regions[space->at.first], v, n * sizeof(*v));
	space->at.nr = n;
	space->hash = h;
	space->unused = 0;
	s->made++;
	return space;
}

static int set(struct halo_kernel *k, struct halo_proc_args *args)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = args, .ctx_size_in = sizeof(*args));
	int err = bpf_prog_test_run_opts(bpf_program__fd(k->skel->progs.halo_proc_set), &run);

	return err ?: (int)run.retval;
}

int halo_kernel__set_regions(struct halo_kernel *k, uint32_t tgid, const struct halo_proc *proc,
			     uint64_t exec_pages, uint64_t wait_ns, const struct halo_region *v,
			     size_t n)
{
	struct halo_proc_args args = {
		.tgid = tgid,
		.what = HALO_PROC_SPACE,
		.start_ns = proc->start_ns,
		.exec_ns = proc->exec_ns,
		.exec_pages = exec_pages,
		.wait_ns = wait_ns,
	};
	struct space *space;

	if (n > HALO_MAX_MAPPED)
		n = HALO_MAX_MAPPED;
	if (n) {
		space = get_space(k, v, n);
		if (!space)
			return -ENOSPC;
		args.space = space->at;
	}
	return set(k, &args);
}

int halo_kernel__set_family(struct halo_kernel *k, uint32_t tgid, const struct halo_proc *proc,
			    uint32_t family)
{
	struct halo_proc_args args = {
		.tgid = tgid,
		.what = HALO_PROC_FAMILY,
		.start_ns = proc->start_ns,
		.exec_ns = proc->exec_ns,
		.family = family,
	};

	return set(k, &args);
}

int halo_kernel__set_library(struct halo_kernel *k, uint32_t tgid, const struct halo_proc *proc,
			     uint32_t family, bool enter)
{
	struct halo_proc_args args = {
		.tgid = tgid,
		.what = enter ? HALO_PROC_ENTER : HALO_PROC_LEAVE,
		.start_ns = proc->start_ns,
		.exec_ns = proc->exec_ns,
		.family = family,
	};

	return set(k, &args);
}

void halo_kernel__spaces(const struct halo_kernel *k, struct halo_spaces_info *out)
{
	const struct halo_spaces *s = k->spaces;

	*out = (struct halo_spaces_info){.regions = s->used, .refused = s->refused};
	for (size_t i = 0; i < s->n; i++)
		out->spaces += s->v[i].at.nr != 0;
}
