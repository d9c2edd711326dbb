// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>

#include "../lib/util.h"
#include "decide.h"
#include "tuning.h"

#define MAX_HOT 21 /* shares of one twentieth each: there can't be more than twenty */

struct weights {
	const struct halo_program *program;
	double *own; /* samples in the shipped code, by index in prepared->funcs */
};

static void add_weight(void *ctx, uint64_t vaddr, double own, double variant)
{
	struct weights *w = ctx;
	const struct halo_func *f = halo_prepared__func_at(w->program->prepared, vaddr);

	(void)variant;
	if (f)
		w->own[f - w->program->prepared->funcs] += own;
}

struct hot_func {
	const struct halo_func *func;
	double own;
};

static int hotter_first(const void *a, const void *b)
{
	const struct hot_func *x = a, *y = b;

	return (x->own < y->own) - (x->own > y->own);
}

size_t halo_decide__hot(struct halo_program *p, uint64_t *addr, size_t max)
{
	struct hot_func hot[MAX_HOT];
	__cleanup_free double *own = calloc(p->prepared->n_funcs + 1, sizeof(*own));
	struct weights w = {.program = p, .own = own};
	double least = HALO_HOT_SHARE * halo_profile__total(p->profile);
	size_t n = 0;

	if (!own)
		return 0;
	halo_profile__each(p->profile, add_weight, &w);
	for (size_t i = 0; i < p->prepared->n_funcs && n < ARRAY_SIZE(hot); i++) {
		const struct halo_func *f = &p->prepared->funcs[i];
		const struct halo_tuning *s;

		if (own[i] < least || own[i] <= 0)
			continue;
		s = halo_tuning__find(p, f);
		if (!s || !s->handled)
			hot[n++] = (struct hot_func){.func = f, .own = own[i]};
	}
	qsort(hot, n, sizeof(*hot), hotter_first);
	for (size_t i = 0; i < n && i < max; i++)
		addr[i] = hot[i].func->addr;
	return n < max ? n : max;
}
