// SPDX-License-Identifier: BSD-2-Clause
/*
 * Rows of changes. A compiler saves the same registers in the same order again and again, so runs of
 * changes that are close to each other repeat: those that do so often enough become shapes, and one
 * row stands for the run. The last change of a prologue differs with the size of the frame, so a run
 * without it is tried too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/util.h"
#include "table_internal.h"

#define MAX_GAP	  48 /* bytes between changes of one run */
#define MIN_COUNT 3  /* uses that make up for a shape's size */
#define PAGE_SIZE (1ULL << HALO_UNWIND_PAGE_BITS)

/* How often a run was seen, by its hash; two that share one are told apart by their rows. */
struct seen {
	uint32_t row[HALO_SHAPE_ROWS];
	uint32_t count;
	uint16_t shape; /* 1 + its number; 0: none yet */
};

struct folder {
	struct halo_unwind_table *t;
	const struct halo_change *v;
	size_t n;
	struct seen *seen;
	unsigned int bits;
	uint64_t page; /* being filled */
	uint16_t rule; /* that holds so far */
};

/* The run's rows, and what is not used. */
static void to_shape(const struct halo_change *v, size_t n, uint32_t row[HALO_SHAPE_ROWS])
{
	for (size_t i = 0; i < HALO_SHAPE_ROWS; i++)
		row[i] = i < n ? HALO_ROW(v[i].off - v[0].off, v[i].rule)
			       : HALO_ROW(HALO_SHAPE_NONE, 0);
}

/* Its place in the table; where there is too much at that place, another run's. */
static struct seen *find(struct folder *f, const uint32_t row[HALO_SHAPE_ROWS])
{
	uint64_t words[HALO_SHAPE_ROWS / 2], hash = 0;
	struct seen *seen;

	memcpy(words, row, sizeof(words));
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15ULL ^ hash >> 29;
	hash >>= 64 - f->bits;
	for (unsigned int i = 0; i < 8; i++) {
		seen = &f->seen[(hash + i) & ((1ULL << f->bits) - 1)];
		if (!seen->count || !memcmp(seen->row, row, sizeof(seen->row)))
			return seen;
	}
	return NULL;
}

static void count(struct folder *f, const struct halo_change *v, size_t n)
{
	uint32_t row[HALO_SHAPE_ROWS];
	struct seen *seen;

	if (n < 2)
		return;
	to_shape(v, n, row);
	seen = find(f, row);
	if (!seen)
		return;
	if (!seen->count)
		memcpy(seen->row, row, sizeof(row));
	seen->count++;
}

/* Changes from v[i] on that are near each other, in one page. */
static size_t run_length(const struct folder *f, size_t i)
{
	size_t n = 1;

	while (i + n < f->n && n < HALO_SHAPE_ROWS &&
	       f->v[i + n].off - f->v[i + n - 1].off <= MAX_GAP &&
	       f->v[i + n].off / PAGE_SIZE == f->v[i].off / PAGE_SIZE)
		n++;
	return n;
}

static void count_all(struct folder *f)
{
	size_t n;

	for (size_t i = 0; i < f->n; i += n) {
		n = run_length(f, i);
		for (size_t len = n; len >= 2 && len + 3 > n; len--)
			count(f, f->v + i, len);
	}
}

/* The number of a shape that is worth it; -1: none. */
static int shape_of(struct folder *f, const struct halo_change *v, size_t n)
{
	struct halo_unwind_table *t = f->t;
	uint32_t row[HALO_SHAPE_ROWS];
	struct seen *seen;

	if (n < 2)
		return -1;
	to_shape(v, n, row);
	seen = find(f, row);
	if (!seen || !seen->count || seen->count * (n - 1) < HALO_SHAPE_ROWS + MIN_COUNT)
		return -1;
	if (!seen->shape) {
		if (t->nr_shapes == HALO_MAX_SHAPES)
			return -1;
		memcpy(t->shapes[t->nr_shapes], row, sizeof(row));
		seen->shape = ++t->nr_shapes;
	}
	return seen->shape - 1;
}

static void begin_page(struct folder *f)
{
	struct halo_unwind_table *t = f->t;
	struct halo_unwind_page *page = &t->pages[f->page - t->first_page];

	page->rows = t->nr_rows;
	page->nr = 1;
	t->rows[t->nr_rows++] = HALO_ROW(0, f->rule);
}

static void add_row(struct folder *f, uint64_t off, uint16_t value)
{
	struct halo_unwind_table *t = f->t;

	/* Pages begin with what holds at the end of the one before. */
	while (f->page != off / PAGE_SIZE) {
		f->page++;
		begin_page(f);
	}
	if (off % PAGE_SIZE == 0) {
		t->rows[t->nr_rows - 1] = HALO_ROW(0, value);
		return;
	}
	t->pages[f->page - t->first_page].nr++;
	t->rows[t->nr_rows++] = HALO_ROW(off, value);
}

static void fold(struct folder *f)
{
	size_t n, len;
	int shape;

	f->page = f->t->first_page;
	begin_page(f);
	for (size_t i = 0; i < f->n; i += len) {
		n = run_length(f, i);
		shape = -1;
		for (len = n; len >= 2 && len + 3 > n && shape < 0; len--)
			shape = shape_of(f, f->v + i, len);
		len = shape < 0 ? 1 : len + 1;
		/* The end of the last function may lie at the end of the last page. */
		if (f->v[i].off / PAGE_SIZE - f->t->first_page >= f->t->nr_pages)
			break;
		add_row(f, f->v[i].off, shape < 0 ? f->v[i].rule : HALO_ROW_SHAPE | shape);
		f->rule = f->v[i + len - 1].rule;
	}
	while (f->page + 1 < f->t->first_page + f->t->nr_pages) {
		f->page++;
		begin_page(f);
	}
}

int halo_unwind__fold(struct halo_unwind_table *t, const struct halo_change *v, size_t n)
{
	struct folder f = {.t = t, .v = v, .n = n, .bits = 12};
	int ret = -ENOMEM;

	while (f.bits < 20 && 1ULL << f.bits < n)
		f.bits++;
	f.seen = calloc(1ULL << f.bits, sizeof(*f.seen));
	t->pages = calloc(t->nr_pages, sizeof(*t->pages));
	t->rows = calloc(n + t->nr_pages + 1, sizeof(*t->rows));
	t->shapes = calloc(HALO_MAX_SHAPES, sizeof(*t->shapes));
	if (f.seen && t->pages && t->rows && t->shapes) {
		count_all(&f);
		fold(&f);
		ret = 0;
	}
	free(f.seen);
	return ret;
}
