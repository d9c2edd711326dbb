/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_PREPARE_ORIGIN_H
#define HALO_PREPARE_ORIGIN_H

/* What a definition was in its unit, before any pass. Functions, and variables that have rows. */
#include "prepare.h"

enum halo_origin_flag {
	HALO_ORIGIN_LOCAL = 1 << 0,	   /* internal linkage */
	HALO_ORIGIN_KEPT = 1 << 1,	   /* the source asks to keep it */
	HALO_ORIGIN_INSTRUMENTED = 1 << 2, /* the source asks for code at its entry */
	HALO_ORIGIN_CALLED = 1 << 3,	   /* by name, in its unit */
	HALO_ORIGIN_CONST = 1 << 4,
};

struct halo_origin {
	uint64_t unit;
	const char *name; /* lives as long as the context */
	uint64_t value; /* of a function: its signature's hash; of a variable: its size in bytes */
	uint32_t flags; /* enum halo_origin_flag */
};

/* Note @unit as the module's own and, at each definition, what it is now. */
void halo_origin__note(LLVMModuleRef ref, uint64_t unit);

/* False: it is of no prepared unit, or a pass made it of another (a clone, a part). */
bool halo_origin__of(LLVMValueRef value, struct halo_origin *out);
/* The unit that @value or what it was made of comes from. */
bool halo_origin__unit(LLVMValueRef value, uint64_t *unit);
/* The unit that the module was compiled from, not one that it has copies of. False: unprepared. */
bool halo_module__own_unit(LLVMModuleRef ref, uint64_t *unit);

/* Hash of what decides how @func is called: convention, types, attributes of parameters. */
uint64_t halo_func__signature(LLVMValueRef func);

#endif
