/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_COMPILE_H
#define OPT_COMPILE_H

/* From a section's module to an object file. */
#include "bind.h"
#include "pgo.h"
#include "request.h"

/* What to do without, when an object holds words that depend on where it lies. */
enum compile_caution {
	CAUTION_NONE,
	CAUTION_TABLES, /* no tables of pointers out of switches */
	CAUTION_SLP,	/* and no vectors of pointers */
	CAUTION_COUNT
};

struct compile_times {
	double optimize, emit; /* milliseconds */
};

/* Once in the process. */
void compile__init(void);

/*
 * Optimize bound->module and write its object. Adds the GOT words that it reads to bound->symbols.
 * Where the request is for code that counts, *map says what; release it with pgo__free_map(). Where it
 * has branches, *inferred is what they tell; release it with pgo__free_inferred().
 * *object is to be freed with LLVMDisposeMemoryBuffer().
 */
int compile__module(struct units *units, const struct section *section, struct bound *bound,
		    const struct request *req, enum compile_caution caution, struct pgo_map *map,
		    struct request_profile *inferred, LLVMMemoryBufferRef *object,
		    struct compile_times *times, struct halo_err *err);

/* An object of assembly only. */
int compile__assembly(const char *text, size_t len, LLVMMemoryBufferRef *object,
		      struct halo_err *err);

/* Milliseconds on a clock that only goes forward. */
double compile__now(void);

#endif
