/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_SHIM_H
#define OPT_SHIM_H

/* What the C interface of LLVM lacks: passes for and with a profile. All return 0 or -errno. */
#include <stddef.h>
#include <stdint.h>

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Inline what is smaller than its call, and tidy up: what clang does before it counts or reads counts,
 * so that there are fewer counters. The same module gives the same result, whatever the machine.
 */
void shim__preinline(LLVMModuleRef module, LLVMTargetMachineRef machine);

/* Insert llvm.instrprof.* intrinsics: where control flow is to be counted, and values. */
void shim__count(LLVMModuleRef module, LLVMTargetMachineRef machine);

/* One function's counts, by its name and hash as shim__count() gave them. */
struct shim_value {
	uint64_t value;
	uint64_t count;
};

struct shim_site {
	uint32_t kind; /* enum InstrProfValueKind of LLVM */
	const struct shim_value *values;
	size_t n_values;
};

struct shim_record {
	const char *name;
	uint64_t hash;
	const uint64_t *counts;
	size_t n_counts;
	const struct shim_site *sites; /* ascending by kind, then by number */
	size_t n_sites;
};

/* By which an indirect call's target is known in a profile. */
uint64_t shim__function_id(LLVMValueRef fn);

/*
 * Annotate a module, which is as shim__count() was given it, with what was counted; turn indirect
 * calls of frequent targets into direct ones behind a comparison. *mismatched: functions that
 * LLVM found to be others than those counted.
 */
int shim__use_counts(LLVMModuleRef module, LLVMTargetMachineRef machine,
		     const struct shim_record *records, size_t n, unsigned int *mismatched);

struct shim_jump {
	uint32_t from, to; /* blocks */
};

/*
 * Flow through a function's @n blocks, the first of which is its entry, that is consistent and as near to
 * the counts as can be (He, Mestre, Pupyrev et al.: Profile Inference Revisited, POPL 2022). Each can be
 * reached from the entry, and reach an exit. @counts: UINT64_MAX is an unknown one; the flow comes back
 * there.
 */
void shim__infer_flow(uint64_t *counts, size_t n, const struct shim_jump *jumps, size_t n_jumps);

struct shim_tuning {
	const char *passes; /* "default<O3>", O2, O1 or Os */
	int vectorize, slp, interleave, unroll;
	int inline_threshold; /* -1: the pipeline's */
};

/* The pipeline as it is with a profile in the module. */
void shim__optimize(LLVMModuleRef module, LLVMTargetMachineRef machine,
		    const struct shim_tuning *tuning);

/* Blocks that the profile says are never run go to sections of their own (.text.split.NAME). */
void shim__split_cold(LLVMTargetMachineRef machine);

#ifdef __cplusplus
}
#endif

#endif
