/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_PREPARE_H
#define HALO_PREPARE_H

/*
 * The pass plugin that prepares translation units (see halo/prepared.h for what it leaves in the
 * object). It runs three times in a compilation:
 *
 *   start   makes functions of loops that are entered once (outline.hpp), serialises the unit as it
 *           is then, notes at each definition what it was then
 *           (origin.c), pins local state
 *   unpin   lets go of what was pinned, so that dead globals die as in a plain build
 *   finish  gives functions their entries and slots, writes the tables
 *
 * With link-time optimization there is no finish in the compilation, but start (pins only), unpin and
 * finish again in the linker. Thin links run many pipelines at once, each in a thread of its own, so
 * all that is known from one step to the next is in the module.
 *
 * A unit that can't be prepared is compiled as if there were no plugin. Nothing here ever fails a
 * compilation.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <llvm-c/Comdat.h>
#include <llvm-c/Core.h>

#ifdef __cplusplus
extern "C" {
#endif

enum halo_phase {
	HALO_COMPILE,	/* one unit; with link-time optimization what comes before the link */
	HALO_THIN_LINK, /* one unit, and copies of what it may inline from others */
	HALO_FULL_LINK, /* all units in one module */
};

void halo_prepare__start(LLVMModuleRef ref, enum halo_phase phase, bool o0);
void halo_prepare__unpin(LLVMModuleRef ref, enum halo_phase phase, bool o0); /* not at -O0 */
void halo_prepare__finish(LLVMModuleRef ref, enum halo_phase phase, bool o0);

/* outline.cpp: give loops that are entered once functions, and so slots, of their own. */
void halo_outline__run(LLVMModuleRef ref);
#define HALO_LOOP_ATTR	"halo-loop"  /* such a function */
#define HALO_LOOPS_ATTR "halo-loops" /* enum halo_loops of the function that had the loop */

/* From entry.cpp, since LLVM-C has no such call. Not NUL-terminated. */
const char *halo_comdat__name(LLVMComdatRef comdat, size_t *len);

#ifdef __cplusplus
}
#endif

#endif
