/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_UNITS_H
#define OPT_UNITS_H

/* The bitcode of a program's units, parsed when first asked for. */
#include <llvm-c/Core.h>

#include "../user/lib/prepared.h"
#include "branches.h"
#include "words.h"

struct unit_state {
	LLVMModuleRef module; /* NULL: not parsed, or taken */
	bool unusable;
	char why[384]; /* if unusable */
};

struct units {
	const struct halo_prepared *p;
	LLVMContextRef ctx;
	struct unit_state *state; /* p->n_units */
	/* Of the shipped code: modules have probes then. NULL: there are none. */
	const struct branches *branches;
	struct words words;  /* of the program's exception tables */
	unsigned int errors; /* that LLVM found in what it was given, in assembly for one */
};

int units__init(struct units *units, const struct halo_prepared *p, struct halo_err *err);
void units__free(struct units *units);

/* The unit's module, or NULL with state[unit].why. It stays owned by @units. */
LLVMModuleRef units__module(struct units *units, uint32_t unit);

/* The same, handed over to the caller: the next call parses it anew. */
LLVMModuleRef units__take(struct units *units, uint32_t unit);

/*
 * The definition of the external function @name, and its unit: for one that the program has no code
 * of, since a link with optimization put it into all its callers. NULL: there is none.
 */
LLVMValueRef units__find(struct units *units, const char *name, uint32_t *unit);

#endif
