/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_SYMBOLS_H
#define OPT_SYMBOLS_H

/* What the names in a variant's module stand for in the program. */
#include "resolve.h"

struct symbol {
	char *name; /* in the variant's module */
	struct place place;
};

struct symbols {
	struct symbol *list;
	size_t n;
};

/* The same name with the same place may be added again; -EEXIST: with another. */
int symbols__add(struct symbols *symbols, const char *name, struct place place);
const struct symbol *symbols__find(const struct symbols *symbols, const char *name);
void symbols__free(struct symbols *symbols);

#endif
