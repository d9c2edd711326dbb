// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols.h"

/* Sorted by name. */
static size_t position(const struct symbols *symbols, const char *name)
{
	size_t lo = 0, hi = symbols->n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (strcmp(symbols->list[mid].name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct symbol *symbols__find(const struct symbols *symbols, const char *name)
{
	size_t i = position(symbols, name);

	return i < symbols->n && strcmp(symbols->list[i].name, name) == 0 ? &symbols->list[i]
									  : NULL;
}

int symbols__add(struct symbols *symbols, const char *name, struct place place)
{
	const struct symbol *old = symbols__find(symbols, name);
	size_t i = position(symbols, name);
	struct symbol *list;
	char *copy;

	if (old)
		return old->place.where == place.where && old->place.addr == place.addr ? 0
											: -EEXIST;
	copy = strdup(name);
	list = reallocarray(symbols->list, symbols->n + 1, sizeof(*list));
	if (list)
		symbols->list = list;
	if (!copy || !list) {
		free(copy);
		return -ENOMEM;
	}
	memmove(&list[i + 1], &list[i], (symbols->n - i) * sizeof(*list));
	list[i] = (struct symbol){.name = copy, .place = place};
	symbols->n++;
	return 0;
}

void symbols__free(struct symbols *symbols)
{
	size_t i;

	for (i = 0; i < symbols->n; i++)
		free(symbols->list[i].name);
	free(symbols->list);
	memset(symbols, 0, sizeof(*symbols));
}
