// SPDX-License-Identifier: BSD-2-Clause
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "../user/lib/util.h"
#include "profile.h"

static int compare_addr(const void *a, const void *b)
{
	const struct halo_symbol *const *x = a, *const *y = b;

	return ((*x)->addr > (*y)->addr) - ((*x)->addr < (*y)->addr);
}

/* Functions of the symbol table by address; the caller frees it. */
static const struct halo_symbol **function_symbols(const struct halo_prepared *p, size_t *n)
{
	const struct halo_symbol **list = calloc(p->n_symbols + 1, sizeof(*list));
	size_t i;

	*n = 0;
	if (!list)
		return NULL;
	for (i = 0; i < p->n_symbols; i++)
		if (p->symbols[i].addr && !p->symbols[i].undefined &&
		    (p->symbols[i].type == STT_FUNC || p->symbols[i].type == STT_GNU_IFUNC))
			list[(*n)++] = &p->symbols[i];
	qsort(list, *n, sizeof(*list), compare_addr);
	return list;
}

static const char *symbol_at(const struct halo_symbol **list, size_t n, uint64_t addr)
{
	size_t lo = 0, hi = n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (list[mid]->addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo && addr - list[lo - 1]->addr < list[lo - 1]->size)
		return list[lo - 1]->name;
	return "(no symbol)";
}

static int compare_other(const void *a, const void *b)
{
	const struct profile_other *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* One entry per name. */
static void merge_other(struct profile *profile)
{
	size_t i, n = 0;

	qsort(profile->other, profile->n_other, sizeof(*profile->other), compare_other);
	for (i = 0; i < profile->n_other; i++) {
		if (n && strcmp(profile->other[n - 1].name, profile->other[i].name) == 0)
			profile->other[n - 1].count += profile->other[i].count;
		else
			profile->other[n++] = profile->other[i];
	}
	profile->n_other = n;
}

int profile__build(const struct halo_prepared *p, const struct request *req, struct profile *out,
		   struct halo_err *err)
{
	__cleanup_free const struct halo_symbol **symbols = NULL;
	const struct halo_func *fn;
	size_t i, n;

	memset(out, 0, sizeof(*out));
	out->p = p;
	out->req = req;
	symbols = function_symbols(p, &n);
	out->count = calloc(p->n_funcs + 1, sizeof(*out->count));
	out->other = calloc(req->n_samples + 1, sizeof(*out->other));
	if (!symbols || !out->count || !out->other)
		return halo_err__set(err, -ENOMEM, "out of memory");
	for (i = 0; i < req->n_samples; i++) {
		const struct request_sample *s = &req->samples[i];

		out->total += s->count;
		fn = halo_prepared__func_at(p, s->addr);
		if (fn)
			out->count[fn - p->funcs] += s->count;
		else
			out->other[out->n_other++] = (struct profile_other){
				.name = symbol_at(symbols, n, s->addr), .count = s->count};
	}
	merge_other(out);
	return 0;
}

void profile__free(struct profile *profile)
{
	free(profile->count);
	free(profile->other);
}

double profile__share(const struct profile *profile, const struct halo_func *fn)
{
	if (!fn || !profile->total)
		return 0;
	return (double)profile->count[fn - profile->p->funcs] / (double)profile->total;
}

uint64_t profile__calls(const struct profile *profile, const struct halo_func *caller,
			const struct halo_func *fn)
{
	const struct halo_prepared *p = profile->p;
	uint64_t calls = 0;
	size_t i, j;

	for (i = 0; i < profile->req->n_contexts; i++) {
		const struct request_context *c = &profile->req->contexts[i];

		/* A return address may be the first byte behind the caller. */
		for (j = 0; j + 1 < c->n_frames; j++)
			if (halo_prepared__func_at(p, j ? c->frames[j] - 1 : c->frames[j]) == fn &&
			    halo_prepared__func_at(p, c->frames[j + 1] - 1) == caller) {
				calls += c->count;
				break;
			}
	}
	return calls;
}
