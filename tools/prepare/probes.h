/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_PREPARE_PROBES_H
#define HALO_PREPARE_PROBES_H

/*
 * Where the code of a source block lies. The plugin puts one of LLVM's pseudo-probes (no instruction, a
 * row in .pseudo_probe, which is not loaded) into each block of a unit and before each call of a
 * pointer, and the worker the same into the unit's bitcode: so branches of the shipped code become
 * counts of the bitcode's blocks.
 *
 * A probe is known by its function's id and a number: that of the block, in the bitcode's order, or
 * HALO_PROBE_CALL and that of the call.
 */
#include <stdbool.h>
#include <stdint.h>

#include <llvm-c/Core.h>

#define HALO_PROBE_SECTION ".pseudo_probe"
#define HALO_PROBE_CALL	   (1ULL << 30)

/* @unit: what the unit is known by, for the ids of local functions. */
void halo_probes__insert(LLVMModuleRef ref, uint64_t unit);
void halo_probes__remove(LLVMModuleRef ref);
/*
 * Have LLVM write a row for each probe. In a build that has probes of its own, ours go: its tools would
 * not know what to make of them.
 */
void halo_probes__finish(LLVMModuleRef ref);

/* Whether @inst is a probe, and which. */
bool halo_probe__read(LLVMValueRef inst, uint64_t *function, uint64_t *number);

#endif
