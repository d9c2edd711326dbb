// SPDX-License-Identifier: BSD-2-Clause
/*
 * Unwind tables in halo_words. A table is a row of words, at the first place where it fits; its head's
 * position goes into halo_table when all of it is written. Words of a table that was replaced are
 * used again after the next drain, when no sample can be reading them any more.
 */
#include <string.h>
#include <sys/mman.h>

#define LOG_TAG "kernel"
#include "../lib/log.h"
#include "internal.h"

#define FIRST_WORD 16 /* position 0 is none */

struct extent {
	uint32_t begin, end; /* words */
	uint32_t table;	     /* HALO_TABLE() */
	bool dead;	     /* replaced; some sample may still read it */
};

struct halo_tables {
	uint32_t *words; /* halo_words itself */
	uint32_t n_words;
	struct extent *v; /* by place */
	size_t n;
	bool full; /* told already */
	uint64_t refused;
};

int halo_tables__set_size(struct halo_kernel *k, unsigned int buckets)
{
	return bpf_map__set_max_entries(k->skel->maps.halo_words, buckets);
}

int halo_tables__open(struct halo_kernel *k)
{
	uint32_t buckets = bpf_map__max_entries(k->skel->maps.halo_words);
	struct halo_tables *t = calloc(1, sizeof(*t));
	void *map;

	if (!t)
		return -ENOMEM;
	t->n_words = buckets * HALO_BUCKET_WORDS;
	map = mmap(NULL, t->n_words * sizeof(uint32_t), PROT_READ | PROT_WRITE, MAP_SHARED,
		   bpf_map__fd(k->skel->maps.halo_words), 0);
	if (map == MAP_FAILED) {
		free(t);
		return -errno;
	}
	t->words = map;
	k->tables = t;
	return 0;
}

void halo_tables__close(struct halo_kernel *k)
{
	struct halo_tables *t = k->tables;

	if (!t)
		return;
	munmap(t->words, t->n_words * sizeof(uint32_t));
	free(t->v);
	free(t);
	k->tables = NULL;
}

/* No sample reads what was dead before. */
void halo_tables__reclaim(struct halo_kernel *k)
{
	struct halo_tables *t = k->tables;
	size_t kept = 0;

	for (size_t i = 0; i < t->n; i++)
		if (!t->v[i].dead)
			t->v[kept++] = t->v[i];
	t->n = kept;
}

/* The first gap with room, and before which extent it lies. -ENOSPC. */
static int find_gap(const struct halo_tables *t, const struct halo_unwind_table *table,
		    struct extent *out, size_t *before)
{
	uint32_t begin = FIRST_WORD, end;

	for (size_t i = 0; i <= t->n; i++) {
		end = i < t->n ? t->v[i].begin : t->n_words;
		if (end > begin && halo_unwind__size(table, begin) <= end - begin) {
			*out = (struct extent){
				.begin = begin,
				.end = begin + halo_unwind__size(table, begin),
			};
			*before = i;
			return 0;
		}
		if (i < t->n)
			begin = t->v[i].end;
	}
	return -ENOSPC;
}

static int insert(struct halo_tables *t, const struct extent *extent, size_t before)
{
	struct extent *v = reallocarray(t->v, t->n + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	t->v = v;
	memmove(v + before + 1, v + before, (t->n - before) * sizeof(*v));
	v[before] = *extent;
	t->n++;
	return 0;
}

static void bury(struct halo_tables *t, uint32_t table, uint32_t but)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].table == table && t->v[i].begin != but)
			t->v[i].dead = true;
}

static int publish(struct halo_kernel *k, uint32_t table, const struct halo_table *entry)
{
	return bpf_map__update_elem(k->skel->maps.halo_table, &table, sizeof(table), entry,
				    sizeof(*entry), BPF_ANY);
}

int halo_kernel__set_table(struct halo_kernel *k, uint32_t exe_id, bool is_arena,
			   const struct halo_unwind_table *table)
{
	struct halo_tables *t = k->tables;
	uint32_t number = HALO_TABLE(exe_id, is_arena);
	struct halo_table entry = {0};
	struct extent extent;
	size_t before;
	int ret;

	if (exe_id >= HALO_MAX_EXES)
		return -EINVAL;
	ret = find_gap(t, table, &extent, &before);
	t->refused += ret != 0;
	if (ret && !t->full) {
		t->full = true;
		log_warn("no room for the frame descriptions of more files: callers in them are "
			 "found by frame pointers");
	}
	extent.table = number;
	ret = ret ?: insert(t, &extent, before);
	if (ret)
		return ret;
	halo_unwind__write(table, t->words, extent.begin, &entry.at);
	entry.words = extent.end - extent.begin;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	ret = publish(k, number, &entry);
	if (ret)
		t->v[before].dead = true;
	else
		bury(t, number, extent.begin);
	return ret;
}

void halo_kernel__del_table(struct halo_kernel *k, uint32_t exe_id, bool is_arena)
{
	const struct halo_table none = {0};

	publish(k, HALO_TABLE(exe_id, is_arena), &none);
	bury(k->tables, HALO_TABLE(exe_id, is_arena), 0);
}

void halo_kernel__tables(const struct halo_kernel *k, struct halo_tables_info *out)
{
	const struct halo_tables *t = k->tables;

	*out = (struct halo_tables_info){
		.size = t->n_words * sizeof(uint32_t),
		.refused = t->refused,
	};
	for (size_t i = 0; i < t->n; i++) {
		out->used += (t->v[i].end - t->v[i].begin) * sizeof(uint32_t);
		out->tables += !t->v[i].dead;
	}
}
