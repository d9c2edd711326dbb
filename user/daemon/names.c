/* SPDX-License-Identifier: BSD-2-Clause */
#define LOG_TAG "names"

#include <stdio.h>

#include "../lib/log.h"
#include "../lib/util.h"
#include "names.h"

/* No name that a compiler makes ends so. */
#define ENTRIES_SUFFIX "$counted"

static void give(struct halo_arena *arena, struct halo_arena_name *list, size_t n)
{
	struct halo_err err = {0};

	if (halo_arena__name(arena, list, n, &err))
		log_error("%s", err.what);
}

void halo_names__image(struct halo_arena *arena, const struct halo_prepared *p,
		       const struct halo_answer *answer)
{
	const int64_t base = halo_prepared__arena(p);
	__cleanup_free struct halo_arena_name *list = calloc(answer->n_funcs, sizeof(*list));

	for (size_t i = 0; list && i < answer->n_funcs; i++) {
		const struct halo_answer_func *f = &answer->funcs[i];

		list[i] = (struct halo_arena_name){
			.off = (uint64_t)(f->vaddr - base),
			.size = f->size,
			.name = f->func ? f->func->name : f->name,
			.function = f->func ? (int64_t)f->func->addr - base : 0,
		};
	}
	if (list)
		give(arena, list, answer->n_funcs);
}

void halo_names__entries(struct halo_arena *arena, uint64_t off, uint64_t size,
			 const struct halo_func *func)
{
	struct halo_arena_name name = {.off = off, .size = size};
	char *text;

	if (asprintf(&text, "%s" ENTRIES_SUFFIX, func->name) < 0)
		return;
	name.name = text;
	give(arena, &name, 1);
	free(text);
}
