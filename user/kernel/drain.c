// SPDX-License-Identifier: BSD-2-Clause
/* Contexts, from the generation that was just retired to the daemon. */
#include <sched.h>
#include <string.h>

#include "internal.h"

#define BATCH 1024
/* A sample takes microseconds: one that takes so many turns never ends. */
#define MAX_TURNS 1000000

struct batch {
	struct halo_ctx_key *keys;
	struct halo_ctx_val *vals;
};

/*
 * Samples that read the old generation's number before it changed may still be counting there. Each
 * marks its CPU busy before it reads the number: once a CPU was seen idle, its samples know.
 */
static int wait_for_samples(struct halo_kernel *k)
{
	int cpus = libbpf_num_possible_cpus(), fd = bpf_map__fd(k->skel->maps.halo_scratch);
	size_t size = ALIGN_UP(bpf_map__value_size(k->skel->maps.halo_scratch), 8U);
	__cleanup_free char *scratch = NULL;
	const uint32_t zero = 0;
	bool busy = true;
	uint64_t word;

	if (cpus < 0)
		return cpus;
	scratch = calloc(cpus, size);
	if (!scratch)
		return -ENOMEM;
	for (int turn = 0; busy && turn < MAX_TURNS; turn++) {
		if (bpf_map_lookup_elem(fd, &zero, scratch))
			return -errno;
		busy = false;
		for (int cpu = 0; cpu < cpus; cpu++) {
			memcpy(&word, scratch + cpu * size, sizeof(word));
			busy |= word;
		}
		if (busy)
			sched_yield();
	}
	return busy ? -ETIMEDOUT : 0;
}

static int drain_batches(int fd, const struct batch *b, halo_drain_fn fn, void *ctx)
{
	uint32_t cursor = 0, n;
	bool first = true;
	int err;

	do {
		n = BATCH;
		err = bpf_map_lookup_and_delete_batch(fd, first ? NULL : &cursor, &cursor, b->keys,
						      b->vals, &n, NULL);
		if (err && err != -ENOENT)
			return err;
		for (uint32_t i = 0; i < n; i++)
			fn(ctx, &b->keys[i], b->vals[i].count);
		first = false;
	} while (!err);
	return 0;
}

static int drain_one_by_one(int fd, halo_drain_fn fn, void *ctx)
{
	struct halo_ctx_key key;
	struct halo_ctx_val val;
	int err;

	while (!(err = bpf_map_get_next_key(fd, NULL, &key))) {
		err = bpf_map_lookup_elem(fd, &key, &val);
		if (err)
			return err;
		err = bpf_map_delete_elem(fd, &key);
		if (err)
			return err;
		fn(ctx, &key, val.count);
	}
	return err == -ENOENT ? 0 : err;
}

int halo_kernel__drain(struct halo_kernel *k, halo_drain_fn fn, void *ctx)
{
	struct bpf_map *const tables[] = {k->skel->maps.halo_ctx_a, k->skel->maps.halo_ctx_b};
	uint64_t *generation = (uint64_t *)&k->skel->bss->halo_generation;
	uint64_t old = __atomic_fetch_xor(generation, 1, __ATOMIC_SEQ_CST);
	__cleanup_free struct halo_ctx_key *keys = NULL;
	__cleanup_free struct halo_ctx_val *vals = NULL;
	int err, fd = bpf_map__fd(tables[old & 1]);

	err = wait_for_samples(k);
	if (err)
		return err;
	keys = calloc(BATCH, sizeof(*keys));
	vals = calloc(BATCH, sizeof(*vals));
	if (!keys || !vals)
		return -ENOMEM;
	err = drain_batches(fd, &(struct batch){keys, vals}, fn, ctx);
	if (err)
		err = drain_one_by_one(fd, fn, ctx);
	return err;
}
