/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_SELFTESTS_PREPARED_WALK_H
#define HALO_SELFTESTS_PREPARED_WALK_H

/*
 * Uses all that the reader says of a file and aborts where it breaks a promise of its header. For
 * the fuzzer and the unit test.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/prepared.h"
#include "lib/prepared_object.h"

#define WALK_CHECK(cond)         \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

static inline void walk_funcs(const struct halo_prepared *p)
{
	const struct halo_func *found;
	uint64_t off;
	size_t i;

	for (i = 0; i < p->n_funcs; i++) {
		const struct halo_func *f = &p->funcs[i];

		WALK_CHECK(strlen(f->name) < p->map_size);
		WALK_CHECK(f->unit < p->n_units);
		WALK_CHECK(!i || p->funcs[i - 1].addr <= f->addr);
		WALK_CHECK(f->size > 0);
		WALK_CHECK(halo_prepared__vaddr_to_off(p, f->addr + f->size - 1, &off));
		WALK_CHECK(off < p->map_size);
		found = halo_prepared__func_at(p, f->addr);
		WALK_CHECK(found && found->addr == f->addr);
		found = halo_prepared__func(p, f->unit, f->name);
		WALK_CHECK(found && strcmp(found->name, f->name) == 0);
		WALK_CHECK(halo_reason__text(f->reason)[0]);
		if (!f->slot)
			continue;
		WALK_CHECK(f->slot % 8 == 0);
		WALK_CHECK(!p->has_stub ||
			   (f->slot >= p->stub.slots_begin + 4096 * HALO_DATA_PAGES &&
			    f->slot + 8 <= p->stub.slots_end));
	}
}

static inline void walk_rest(const struct halo_prepared *p)
{
	const struct halo_symbol *s;
	size_t i, sum = 0;

	for (i = 0; i < p->n_vars; i++) {
		WALK_CHECK(p->vars[i].unit < p->n_units);
		WALK_CHECK(halo_prepared__var(p, p->vars[i].unit, p->vars[i].name));
	}
	for (i = 0; i < p->n_symbols; i++) {
		s = halo_prepared__symbol(p, p->symbols[i].name);
		WALK_CHECK(s && strcmp(s->name, p->symbols[i].name) == 0);
		WALK_CHECK(!s->undefined || p->symbols[i].undefined);
	}
	for (i = 0; i < p->n_units; i++) {
		uint8_t *bc;

		sum += strlen(p->units[i].name);
		if (halo_unit__bitcode(&p->units[i], &bc, NULL) == 0) {
			sum += bc[p->units[i].raw_size - 1];
			free(bc);
		}
	}
	/* Keeps the reads above from being optimized away. */
	__asm__ volatile("" : : "r"(sum));
}

/* The code of halo_prepared__open(). */
static inline int walk_prepared(int fd)
{
	struct halo_buildid id;
	struct halo_prepared *p;
	char text[2 * HALO_BUILD_ID_MAX + 1];
	uint8_t hash[32];
	int ret;

	if (halo_buildid__read(fd, &id, NULL) == 0) {
		halo_buildid__format(&id, text);
		WALK_CHECK(strlen(text) == 2 * id.len);
	}
	ret = halo_prepared__open(fd, &p, NULL);
	WALK_CHECK(ret <= 0);
	if (ret)
		return ret;
	walk_funcs(p);
	walk_rest(p);
	WALK_CHECK(halo_prepared__hash(p, hash, NULL) == 0);
	halo_prepared__free(p);
	return 0;
}

/* The code of halo_prepared__open_object(). */
static inline int walk_object(const uint8_t *image, size_t size)
{
	struct halo_prepared *p;
	size_t i, sum = 0;
	int ret = halo_prepared__open_object(image, size, &p, NULL);

	WALK_CHECK(ret <= 0);
	if (ret)
		return ret;
	WALK_CHECK(p->n_units);
	for (i = 0; i < p->n_units; i++)
		sum += strlen(p->units[i].name) + p->units[i].bc[p->units[i].bc_size - 1];
	for (i = 0; i < p->n_funcs; i++) {
		WALK_CHECK(p->funcs[i].unit < p->n_units);
		WALK_CHECK(halo_reason__text(p->funcs[i].reason)[0]);
		sum += strlen(p->funcs[i].name);
	}
	for (i = 0; i < p->n_vars; i++) {
		WALK_CHECK(p->vars[i].unit < p->n_units);
		sum += strlen(p->vars[i].name);
	}
	__asm__ volatile("" : : "r"(sum));
	halo_prepared__free(p);
	return 0;
}

#endif
