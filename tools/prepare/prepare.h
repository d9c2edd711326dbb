/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_PREPARE_H
#define HALO_PREPARE_H

/*
 * The pass plugin that prepares one translation unit (see halo/prepared.h for what it leaves in the
 * object). It runs three times in a compilation:
 *
 *   start   remembers the unit as it was written, serialises it, pins its local state
 *   unpin   lets go of what was pinned, so that dead globals die as in a plain build
 *   finish  gives functions their entries and slots, writes the tables
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

void halo_prepare__start(LLVMModuleRef ref);
void halo_prepare__unpin(LLVMModuleRef ref);
void halo_prepare__finish(LLVMModuleRef ref);
void halo_prepare__finish_o0(LLVMModuleRef ref); /* at -O0, where there was no unpin */

/* From entry.cpp, since LLVM-C has no such call. Not NUL-terminated. */
const char *halo_comdat__name(LLVMComdatRef comdat, size_t *len);

#ifdef __cplusplus
}
#endif

#endif
