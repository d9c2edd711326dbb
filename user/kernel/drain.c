// SPDX-License-Identifier: BSD-2-Clause
/* Contexts, from the generation that was just retired to the daemon. */
#include <sched.h>
#include <string.h>

#include "internal.h"

#define BATCH 1024
/* A sample takes microseconds: one that takes so many turns never ends. */
#define MAX_TURNS 1000000

/* What one kind of table holds, and who takes it. */
struct table {
	const struct bpf_map *map; /* of the generation that was retired */
	void (*hand_over)(struct halo_kernel *k, const void *key, const void *val);
};

static void hand_context(struct halo_kernel *k, const void *key, const void *val)
{
	k->on_context(k->drain_ctx, key, ((const struct halo_ctx_val *)val)->count);
}

static void hand_edge(struct halo_kernel *k, const void *key, const void *val)
{
	if (k->branches.edge)
		k->branches.edge(k->branches.ctx, key, val);
}

static void hand_range(struct halo_kernel *k, const void *key, const void *val)
{
	if (k->branches.range)
		k->branches.range(k->branches.ctx, key,
				  ((const struct halo_range_val *)val)->count);
}

/*
 * Samples that read the old generation's number before it changed may still be counting there. Each
 * marks its CPU busy before it reads the number: once a CPU was seen idle, its samples know.
 */
static int is_busy(const struct bpf_map *map, uint32_t key, int cpus, bool *busy)
{
	size_t size = ALIGN_UP(bpf_map__value_size(map), 8U);
	__cleanup_free char *scratch = calloc(cpus, size);
	uint64_t word;

	if (!scratch)
		return -ENOMEM;
	if (bpf_map_lookup_elem(bpf_map__fd(map), &key, scratch))
		return -errno;
	for (int cpu = 0; cpu < cpus; cpu++) {
		memcpy(&word, scratch + cpu * size, sizeof(word));
		*busy |= word;
	}
	return 0;
}

static int wait_for_samples(const struct bpf_map *map, uint32_t key)
{
	int err = 0, cpus = libbpf_num_possible_cpus();
	bool busy = true;

	if (cpus < 0)
		return cpus;
	for (int turn = 0; !err && busy && turn < MAX_TURNS; turn++) {
		busy = false;
		err = is_busy(map, key, cpus, &busy);
		if (busy)
			sched_yield();
	}
	return err ?: busy ? -ETIMEDOUT : 0;
}

static int drain_batches(struct halo_kernel *k, const struct table *t)
{
	size_t key_size = bpf_map__key_size(t->map), val_size = bpf_map__value_size(t->map);
	__cleanup_free char *keys = calloc(BATCH, key_size), *vals = calloc(BATCH, val_size);
	int err, fd = bpf_map__fd(t->map);
	uint32_t cursor = 0, n;
	bool first = true;

	if (!keys || !vals)
		return -ENOMEM;
	do {
		n = BATCH;
		err = bpf_map_lookup_and_delete_batch(fd, first ? NULL : &cursor, &cursor, keys,
						      vals, &n, NULL);
		if (err && err != -ENOENT)
			return err;
		for (uint32_t i = 0; i < n; i++)
			t->hand_over(k, keys + i * key_size, vals + i * val_size);
		first = false;
	} while (!err);
	return 0;
}

static int drain_one_by_one(struct halo_kernel *k, const struct table *t)
{
	__cleanup_free char *key = calloc(1, bpf_map__key_size(t->map));
	__cleanup_free char *val = calloc(1, bpf_map__value_size(t->map));
	int err, fd = bpf_map__fd(t->map);

	if (!key || !val)
		return -ENOMEM;
	while (!(err = bpf_map_get_next_key(fd, NULL, key))) {
		err = bpf_map_lookup_elem(fd, key, val);
		if (err)
			return err;
		err = bpf_map_delete_elem(fd, key);
		if (err)
			return err;
		t->hand_over(k, key, val);
	}
	return err == -ENOENT ? 0 : err;
}

int halo_kernel__drain(struct halo_kernel *k, halo_drain_fn fn, void *ctx)
{
	uint64_t *generation = (uint64_t *)&k->skel->bss->halo_generation;
	uint64_t old = __atomic_fetch_xor(generation, 1, __ATOMIC_SEQ_CST) & 1;
	const struct table tables[] = {
		{old ? k->skel->maps.halo_ctx_b : k->skel->maps.halo_ctx_a, hand_context},
		{old ? k->skel->maps.halo_edge_b : k->skel->maps.halo_edge_a, hand_edge},
		{old ? k->skel->maps.halo_range_b : k->skel->maps.halo_range_a, hand_range},
	};
	int err;

	k->on_context = fn;
	k->drain_ctx = ctx;
	err = wait_for_samples(k->skel->maps.halo_scratch, 0);
	err = err ?: wait_for_samples(k->skel->maps.halo_branches, HALO_BRANCH_FEED);
	if (!err)
		halo_tables__reclaim(k);
	for (size_t i = 0; !err && i < ARRAY_SIZE(tables); i++) {
		err = drain_batches(k, &tables[i]);
		if (err)
			err = drain_one_by_one(k, &tables[i]);
	}
	return err;
}

void halo_kernel__on_branches(struct halo_kernel *k, halo_edge_fn edge, halo_range_fn range,
			      void *ctx)
{
	k->branches.edge = edge;
	k->branches.range = range;
	k->branches.ctx = ctx;
}
