// SPDX-License-Identifier: BSD-2-Clause
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile.h"

#define NS_PER_S      1e9
#define FIRST_SIZE    1024 /* slots; a power of two */
#define WORTH_KEEPING 0.01 /* samples: less than that is forgotten */

struct entry {
	uint64_t vaddr;
	double own, variant;
	bool used;
};

/* Open addressing, linear probing, at most half full; entries go away only in a rebuild. */
struct halo_profile {
	struct entry *table;
	size_t size, used;
	double outside;
	double total, inside;
	uint64_t last_ns;
	uint64_t dropped;
};

struct halo_profile *halo_profile__new(void)
{
	struct halo_profile *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->size = FIRST_SIZE;
	p->table = calloc(p->size, sizeof(*p->table));
	if (!p->table) {
		free(p);
		return NULL;
	}
	return p;
}

void halo_profile__free(struct halo_profile *p)
{
	if (!p)
		return;
	free(p->table);
	free(p);
}

static struct entry *find(struct entry *table, size_t size, uint64_t vaddr)
{
	size_t i = (vaddr * 0x9e3779b97f4a7c15ULL) >> 32 & (size - 1);

	while (table[i].used && table[i].vaddr != vaddr)
		i = (i + 1) & (size - 1);
	return &table[i];
}

/* Move what is worth keeping to a table of @size slots. On failure all stays as it is. */
static bool rebuild(struct halo_profile *p, size_t size)
{
	struct entry *table = calloc(size, sizeof(*table));

	if (!table)
		return false;
	p->used = 0;
	for (size_t i = 0; i < p->size; i++) {
		const struct entry *e = &p->table[i];

		if (!e->used || e->own + e->variant < WORTH_KEEPING)
			continue;
		*find(table, size, e->vaddr) = *e;
		p->used++;
	}
	free(p->table);
	p->table = table;
	p->size = size;
	return true;
}

void halo_profile__decay(struct halo_profile *p, uint64_t now_ns)
{
	double factor;
	size_t faded = 0;

	if (!p->last_ns || now_ns <= p->last_ns) {
		if (!p->last_ns)
			p->last_ns = now_ns;
		return;
	}
	factor = exp2(-(double)(now_ns - p->last_ns) / NS_PER_S / HALO_PROFILE_HALF_LIFE_S);
	p->last_ns = now_ns;
	p->outside *= factor;
	p->total = p->outside;
	p->inside = 0;
	for (size_t i = 0; i < p->size; i++) {
		struct entry *e = &p->table[i];

		if (!e->used)
			continue;
		e->own *= factor;
		e->variant *= factor;
		p->inside += e->own + e->variant;
		faded += e->own + e->variant < WORTH_KEEPING;
	}
	p->total += p->inside;
	if (faded > p->size / 8)
		rebuild(p, p->size);
}

static bool make_room(struct halo_profile *p)
{
	if (p->used * 2 < p->size)
		return true;
	if (p->used >= HALO_PROFILE_MAX)
		return false;
	return rebuild(p, p->size * 2);
}

bool halo_profile__add(struct halo_profile *p, uint64_t vaddr, double count, bool variant)
{
	struct entry *e = find(p->table, p->size, vaddr);

	if (!e->used) {
		if (!make_room(p)) {
			p->dropped++;
			return false;
		}
		e = find(p->table, p->size, vaddr);
		e->used = true;
		e->vaddr = vaddr;
		p->used++;
	}
	if (variant)
		e->variant += count;
	else
		e->own += count;
	p->inside += count;
	p->total += count;
	return true;
}

void halo_profile__add_outside(struct halo_profile *p, double count)
{
	p->outside += count;
	p->total += count;
}

double halo_profile__total(const struct halo_profile *p)
{
	return p->total;
}

double halo_profile__inside(const struct halo_profile *p)
{
	return p->inside;
}

uint64_t halo_profile__dropped(const struct halo_profile *p)
{
	return p->dropped;
}

void halo_profile__each(const struct halo_profile *p, halo_profile_fn fn, void *ctx)
{
	for (size_t i = 0; i < p->size; i++)
		if (p->table[i].used && p->table[i].own + p->table[i].variant >= WORTH_KEEPING)
			fn(ctx, p->table[i].vaddr, p->table[i].own, p->table[i].variant);
}
