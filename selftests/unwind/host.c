// SPDX-License-Identifier: BSD-2-Clause
#include "host.h"

struct halo_bucket host__buckets[HOST_BUCKETS];
uint32_t host__heads[HOST_TABLES];
long (*host__read)(void *dst, uint32_t size, uint64_t addr);

#define FIRST_WORD 16 /* position 0 is none */

static uint32_t next = FIRST_WORD;

void host__reset(void)
{
	next = FIRST_WORD;
}

bool host__add_table(uint32_t table, const struct halo_unwind_table *t)
{
	size_t words = halo_unwind__size(t, next);

	if (table >= HOST_TABLES || words > HOST_BUCKETS * (size_t)HALO_BUCKET_WORDS - next)
		return false;
	halo_unwind__write(t, host__buckets[0].word, next, &host__heads[table]);
	next += words;
	return true;
}

bool host__compile(uint32_t table, const void *data, size_t size)
{
	struct halo_unwind_table t;
	struct halo_err err = {0};
	bool added;

	if (halo_unwind__compile(data, size, &t, &err))
		return false;
	added = host__add_table(table, &t);
	halo_unwind__free(&t);
	return added;
}
