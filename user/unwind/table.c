// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/util.h"
#include "elf.h"
#include "table_internal.h"

#define HASH_BITS   15 /* twice HALO_MAX_RULES */
#define MAX_CHANGES (32U << 20)

_Static_assert(1U << HASH_BITS == 2 * HALO_MAX_RULES, "half full at most");

/* A function that is described, by place in the file. */
struct entry {
	uint64_t off, len;
	const struct halo_cfi_section *section;
	struct halo_fde fde;
};

struct builder {
	struct halo_unwind_table *t;
	uint16_t hash[1U << HASH_BITS]; /* numbers of rules; 0: free */
	const struct entry *entry;	/* whose rows come */
	struct halo_change *v;		/* by place, each to another rule than the one before */
	size_t n;
};

static uint32_t hash(const struct halo_rule *rule)
{
	uint64_t words[2];

	memcpy(words, rule, sizeof(words));
	return ((words[0] * 0x9e3779b97f4a7c15ULL) ^ (words[1] * 0xc2b2ae3d27d4eb4fULL)) >>
	       (64 - HASH_BITS);
}

/* Its number; 0 when there are too many. */
static uint16_t intern(struct builder *b, const struct halo_rule *rule)
{
	struct halo_unwind_table *t = b->t;
	uint32_t i = hash(rule);

	if (rule->kind == HALO_RULE_NONE)
		return 0;
	for (; b->hash[i]; i = (i + 1) & ((1U << HASH_BITS) - 1))
		if (!memcmp(&t->rules[b->hash[i]], rule, sizeof(*rule)))
			return b->hash[i];
	if (t->nr_rules == HALO_MAX_RULES) {
		t->rules_lost++;
		return 0;
	}
	t->rules[t->nr_rules] = *rule;
	b->hash[i] = t->nr_rules;
	return t->nr_rules++;
}

static int add_change(struct builder *b, uint64_t off, uint16_t rule)
{
	struct halo_change *v;

	if (b->n && b->v[b->n - 1].off == off)
		b->n--;
	if (b->n ? b->v[b->n - 1].rule == rule : !rule)
		return 0;
	if ((b->n & (b->n - 1)) == 0) {
		if (b->n >= MAX_CHANGES)
			return -E2BIG;
		v = reallocarray(b->v, b->n ? 2 * b->n : 1, sizeof(*v));
		if (!v)
			return -ENOMEM;
		b->v = v;
	}
	b->v[b->n++] = (struct halo_change){.off = off, .rule = rule};
	return 0;
}

static int on_row(void *ctx, uint64_t vaddr, const struct halo_rule *rule)
{
	struct builder *b = ctx;
	uint16_t number = intern(b, rule);

	b->t->unknown += !number;
	return add_change(b, b->entry->off + (vaddr - b->entry->fde.begin), number);
}

static bool to_off(const struct halo_unwind_elf *e, const struct halo_fde *fde, uint64_t *off)
{
	for (unsigned int i = 0; i < e->n_segments; i++) {
		const struct halo_unwind_segment *s = &e->segments[i];

		if (fde->begin < s->vaddr || fde->begin - s->vaddr >= s->size ||
		    fde->end - fde->begin > s->size - (fde->begin - s->vaddr))
			continue;
		*off = fde->begin - s->vaddr + s->off;
		return true;
	}
	return false;
}

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return (x->section->debug_frame > y->section->debug_frame) -
	       (x->section->debug_frame < y->section->debug_frame);
}

static int collect(const struct halo_unwind_elf *e, const struct halo_cfi_section *s,
		   struct entry **v, size_t *n, size_t *malformed)
{
	__cleanup_free struct halo_fde *fdes = NULL;
	size_t n_fdes, bad;
	struct entry *more;
	int ret;

	if (!s->size)
		return 0;
	ret = halo_cfi__entries(s, &fdes, &n_fdes, &bad);
	if (ret)
		return ret;
	*malformed += bad;
	more = reallocarray(*v, *n + n_fdes + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	*v = more;
	for (size_t i = 0; i < n_fdes; i++) {
		struct entry *entry = &more[*n];

		/* Of code that the linker left out, too. */
		if (!to_off(e, &fdes[i], &entry->off))
			continue;
		entry->len = fdes[i].end - fdes[i].begin;
		entry->section = s;
		entry->fde = fdes[i];
		++*n;
	}
	return 0;
}

/* As halo_image's checks want it: version, and encodings of what lies behind. */
static const uint8_t hdr_form[] = {1, 0x1b, 0x03, 0x3b};

#define HDR_COUNT 8
#define HDR_ROWS  12

static int collect_image(const struct halo_cfi_section *s, uint64_t hdr, struct entry **v,
			 size_t *n)
{
	uint32_t count, known = *n;
	struct entry *more;
	int32_t distance;

	if (hdr > s->size || s->size - hdr < HDR_ROWS ||
	    memcmp(s->data + hdr, hdr_form, sizeof(hdr_form)))
		return 0;
	memcpy(&count, s->data + hdr + HDR_COUNT, sizeof(count));
	if (count > (s->size - hdr - HDR_ROWS) / 8)
		return 0;
	more = reallocarray(*v, known + count + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	*v = more;
	for (uint32_t i = 0; i < count; i++) {
		struct entry *entry = &more[*n];

		memcpy(&distance, s->data + hdr + HDR_ROWS + 8 * i + 4, sizeof(distance));
		if (!halo_cfi__entry(s, hdr + (int64_t)distance, &entry->fde) ||
		    entry->fde.begin >= s->size || entry->fde.end > s->size)
			continue;
		entry->off = entry->fde.begin;
		entry->len = entry->fde.end - entry->fde.begin;
		entry->section = s;
		++*n;
	}
	return 0;
}

/* .eh_frame is what the program itself unwinds by; .debug_frame tells of functions that it lacks. */
static size_t drop_overlaps(struct entry *v, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		const struct entry *before = kept ? &v[kept - 1] : NULL;

		if (before && v[i].off < before->off + before->len) {
			/* Begun earlier, but only a description for debuggers. */
			if (!before->section->debug_frame || v[i].section->debug_frame)
				continue;
			v[kept - 1] = v[i];
			continue;
		}
		v[kept++] = v[i];
	}
	return kept;
}

static int run_entries(struct builder *b, const struct entry *v, size_t n)
{
	uint64_t end = 0;
	int ret;

	for (size_t i = 0; i < n; i++) {
		/* Between functions nothing is known. */
		if (i && v[i].off > end) {
			ret = add_change(b, end, 0);
			if (ret)
				return ret;
		}
		b->entry = &v[i];
		ret = halo_cfi__run(v[i].section, &v[i].fde, on_row, b);
		if (ret)
			return ret;
		end = v[i].off + v[i].len;
	}
	return add_change(b, end, 0);
}

static int build(struct halo_unwind_table *t, const struct entry *v, size_t n)
{
	struct builder *b = calloc(1, sizeof(*b));
	uint64_t last;
	int ret = -ENOMEM;

	if (!b)
		return -ENOMEM;
	b->t = t;
	last = (v[n - 1].off + v[n - 1].len - 1) >> HALO_UNWIND_PAGE_BITS;
	t->first_page = v[0].off >> HALO_UNWIND_PAGE_BITS;
	/* Head and pages lie in one bucket. */
	if (last - t->first_page >= HALO_BUCKET_WORDS / 2 - 4) {
		ret = -E2BIG;
		goto cleanup;
	}
	t->nr_pages = last - t->first_page + 1;
	t->functions = n;
	t->rules = calloc(HALO_MAX_RULES, sizeof(*t->rules));
	if (!t->rules)
		goto cleanup;
	t->nr_rules = 1;
	ret = run_entries(b, v, n);
	t->changes = b->n;
	ret = ret ?: halo_unwind__fold(t, b->v, b->n);
cleanup:
	free(b->v);
	free(b);
	return ret;
}

static int finish(struct halo_unwind_table *t, struct entry *v, size_t n)
{
	if (!n)
		return -ENODATA;
	qsort(v, n, sizeof(*v), compare);
	return build(t, v, drop_overlaps(v, n));
}

static int fail(struct halo_unwind_table *t, int ret, struct halo_err *err)
{
	halo_unwind__free(t);
	return halo_err__set(err, ret, "%s",
			     ret == -ENODATA ? "it describes no frames"
			     : ret == -E2BIG ? "it is too large"
					     : "out of memory");
}

int halo_unwind__compile(const void *data, size_t size, struct halo_unwind_table *out,
			 struct halo_err *err)
{
	__cleanup_free struct entry *v = NULL;
	struct halo_unwind_elf e;
	size_t n = 0;
	int ret;

	*out = (struct halo_unwind_table){0};
	ret = halo_unwind_elf__open(data, size, &e, err);
	if (ret)
		return ret;
	ret = collect(&e, &e.eh_frame, &v, &n, &out->malformed);
	if (!ret)
		ret = collect(&e, &e.debug_frame, &v, &n, &out->malformed);
	for (unsigned int i = 0; i < e.n_segments; i++)
		out->text += e.segments[i].size;
	if (!ret)
		ret = finish(out, v, n);
	halo_unwind_elf__close(&e);
	return ret ? fail(out, ret, err) : 0;
}

int halo_unwind__compile_images(const void *data, size_t size, const uint64_t *hdr, size_t n,
				struct halo_unwind_table *out, struct halo_err *err)
{
	const struct halo_cfi_section s = {.data = data, .size = size};
	__cleanup_free struct entry *v = NULL;
	size_t n_entries = 0;
	int ret = 0;

	*out = (struct halo_unwind_table){.text = size};
	for (size_t i = 0; i < n && !ret; i++)
		ret = collect_image(&s, hdr[i], &v, &n_entries);
	if (!ret)
		ret = finish(out, v, n_entries);
	return ret ? fail(out, ret, err) : 0;
}

void halo_unwind__free(struct halo_unwind_table *t)
{
	free(t->pages);
	free(t->rows);
	free(t->rules);
	free(t->shapes);
	*t = (struct halo_unwind_table){0};
}

/* Where something of @n words goes that would begin at @at. */
static uint32_t place(uint32_t at, size_t n)
{
	uint32_t left = HALO_BUCKET_WORDS - (at & (HALO_BUCKET_WORDS - 1));

	return n <= left ? at : at + left;
}

/* With @words NULL, only find out where it ends. */
static uint32_t lay_out(const struct halo_unwind_table *t, uint32_t *words, uint32_t at,
			uint32_t *head_at)
{
	size_t n = (sizeof(struct halo_unwind_head) + t->nr_pages * sizeof(*t->pages)) / 4;
	struct halo_unwind_head head = {
		.first_page = t->first_page,
		.nr_pages = t->nr_pages,
		.nr_rules = t->nr_rules,
		.nr_shapes = t->nr_shapes,
	};
	struct halo_unwind_page page;
	uint32_t pages;

	*head_at = at = place(at, n);
	pages = at + sizeof(head) / 4;
	at = place(at + n, t->nr_rules * HALO_RULE_WORDS);
	head.rules = at;
	at = place(at + t->nr_rules * HALO_RULE_WORDS, t->nr_shapes * HALO_SHAPE_ROWS);
	head.shapes = at;
	at += t->nr_shapes * HALO_SHAPE_ROWS;
	if (words) {
		memcpy(words + *head_at, &head, sizeof(head));
		memcpy(words + head.rules, t->rules, t->nr_rules * sizeof(*t->rules));
		memcpy(words + head.shapes, t->shapes, t->nr_shapes * sizeof(*t->shapes));
	}
	for (uint32_t i = 0; i < t->nr_pages; i++) {
		page = t->pages[i];
		at = place(at, page.nr);
		if (words) {
			memcpy(words + at, t->rows + page.rows, page.nr * sizeof(*t->rows));
			page.rows = at;
			memcpy(words + pages + i * sizeof(page) / 4, &page, sizeof(page));
		}
		at += page.nr;
	}
	return at;
}

size_t halo_unwind__size(const struct halo_unwind_table *t, uint32_t at)
{
	uint32_t head;

	return lay_out(t, NULL, at, &head) - at;
}

void halo_unwind__write(const struct halo_unwind_table *t, uint32_t *words, uint32_t at,
			uint32_t *head)
{
	lay_out(t, words, at, head);
}
