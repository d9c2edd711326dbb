/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_PGO_H
#define OPT_PGO_H

/*
 * Profile-guided optimization of a section. Counts are taken and used at one point: the section's
 * module as it was bound, small functions inlined, before anything depends on the CPU or on a knob.
 * Elsewhere control flow would be another, and LLVM would drop the counts.
 */
#include <llvm-c/TargetMachine.h>

#include "bind.h"
#include "request.h"

/* Counters of a module, by number; the place of number n on copy c is c * stride + 8 * n. */
struct pgo_map {
	struct request_counted *functions;
	size_t n_functions;
	uint32_t n_counters;
	uint32_t n_sites;
	uint32_t copies; /* of the counters; a power of two */
	uint32_t stride; /* bytes */
};

/* The first two counters: how often the root was entered, and how often it returned. */
#define PGO_ENTERED 0
#define PGO_LEFT    1
#define PGO_FIRST   2

/* Behind the copies: a count of all, a word unused, and pairs of value + 1 and count. */
#define PGO_SITE_SIZE 128

/*
 * Make the module count what it does. -ENOSPC: the program has no room for so many counters.
 * Release *map with pgo__free_map(), on failure too.
 */
int pgo__count(struct bound *bound, const struct section *section, const struct request *req,
	       LLVMTargetMachineRef machine, struct pgo_map *map, struct halo_err *err);
void pgo__free_map(struct pgo_map *map);

#define PGO_KIND_TARGET 0 /* LLVM's number for values that are targets of indirect calls */

/* Frequent targets of the indirect calls that were counted. Returns their number. */
#define PGO_TARGETS_MAX 64
size_t pgo__targets(const struct halo_prepared *p, const struct request_profile *profile,
		    const struct halo_func *out[PGO_TARGETS_MAX]);

/* The same from recorded branches, of the calls in @fn; added to the @n that are in @out. */
size_t pgo__recorded_targets(const struct branches *branches, LLVMValueRef fn,
			     const struct halo_func *out[PGO_TARGETS_MAX], size_t n);

/*
 * What code that counts would have counted where branches were recorded. The module has its probes, and
 * small functions are inlined. Release with pgo__free_inferred(), on failure too.
 */
int pgo__infer(struct units *units, LLVMModuleRef module, LLVMTargetMachineRef machine,
	       struct request_profile *out, struct halo_err *err);
void pgo__free_inferred(struct request_profile *profile);

/* Tell the module what was counted, and call frequent targets of indirect calls directly. */
int pgo__use(struct units *units, struct bound *bound, const struct section *section,
	     const struct request_profile *profile, LLVMTargetMachineRef machine,
	     struct halo_err *err);
/* The same with what recorded branches tell, which is left in *inferred. */
int pgo__use_branches(struct units *units, struct bound *bound, const struct section *section,
		      LLVMTargetMachineRef machine, struct request_profile *inferred,
		      struct halo_err *err);

#endif
