/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_FLOW_H
#define OPT_FLOW_H

/* How often the blocks of a function ran, from what is known of some of them. */
#include <stdbool.h>
#include <stdint.h>

#include <llvm-c/Core.h>

#include "shim.h"

#define FLOW_UNKNOWN UINT64_MAX

struct flow {
	LLVMValueRef fn;
	size_t n;
	LLVMBasicBlockRef *blocks; /* in the function's order */
	uint64_t *counts;	   /* of each: in what is known, out what follows */
	struct flow_place *places; /* by block */
	/* Without blocks that nothing reaches, or from which nothing leads out. */
	size_t n_inner;
	size_t *inner;		 /* their indices, the entry first */
	struct shim_jump *jumps; /* between them, by index in inner */
	size_t n_jumps;
};

/* -ENOMEM. Release with flow__free(), on failure too. */
int flow__init(struct flow *flow, LLVMValueRef fn);
void flow__free(struct flow *flow);

/* Make flow->counts consistent. Where no way leads out of the function what is unknown becomes 0. */
int flow__infer(struct flow *flow);

/* The index of a block of the function. */
size_t flow__index(const struct flow *flow, LLVMBasicBlockRef block);

#endif
