/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_INSPECT_H
#define OPT_INSPECT_H

/* Whether a variant may hold a function, and what it is made of. */
#include <llvm-c/Core.h>

#include "../user/lib/prepared.h"
#include "request.h"
#include "units.h"

struct facts {
	bool usable;
	char why[192]; /* plain words, if not usable */
	uint32_t instructions;
	uint32_t loops;
	bool floating; /* has floating-point arithmetic */
};

/*
 * @fn is a definition in the bitcode of unit @unit. Functions that it calls directly are not
 * looked at: whether they can be called is for the section to find out.
 */
void inspect__function(const struct units *units, uint32_t unit, LLVMValueRef fn,
		       enum request_fp fp, struct facts *out);

/* inspect_fp.c: NULL, or why results would depend on how the function is optimized. */
const char *inspect__fp(LLVMValueRef fn, enum request_fp fp, bool *floating);

/* inspect_assembly.c: NULL, or why inline assembly can't be had a second time. */
const char *inspect__assembly(const struct halo_prepared *p, uint32_t unit, LLVMValueRef call);

/* inspect_refs.c: NULL, or why something that the function refers to can't be bound. */
const char *inspect__references(const struct units *units, uint32_t unit, LLVMValueRef fn,
				char *buf, size_t size);

/* inspect_unwind.c: whether an exception may pass through a function that has none of its own. */
bool inspect__may_unwind(const struct halo_prepared *p, uint32_t unit, LLVMValueRef fn);

/*
 * inspect_literals.c: whether the address of a string literal that the image has
 * a copy of outlives a call, or is compared.
 */
bool inspect__keeps_literal(const struct halo_prepared *p, LLVMValueRef fn);

/* Edges to a block from one that it leads to. */
uint32_t inspect__loops(LLVMValueRef fn);

#endif
