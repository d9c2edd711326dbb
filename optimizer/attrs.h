/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_ATTRS_H
#define OPT_ATTRS_H

/* What LLVM may assume about the CPU and the C library, function by function. */
#include "../user/lib/prepared.h"
#include "request.h"

#include <llvm-c/Core.h>

int attrs__apply(const struct halo_prepared *p, LLVMModuleRef module,
		 const struct request_config *config, struct halo_err *err);

/*
 * A function's own features, then those of @host that are added: "+" ones, none that @own takes
 * away, no AVX-512 with @no_avx512. NULL: out of memory. The caller frees it.
 */
char *attrs__merge_features(const char *own, const char *host, bool no_avx512);

/* libcalls.c: forbid LLVM to invent calls of functions that the program neither has nor imports. */
void attrs__forbid_libcalls(const struct halo_prepared *p, LLVMModuleRef module);

/*
 * libcalls.c: a function of the C library that LLVM may have turned into something else in the
 * shipped code, and will here, so that the program can do without it. If not, linking fails.
 */
bool attrs__is_libcall(const char *name);

#endif
