/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_FP_H
#define OPT_FP_H

/*
 * llvm.fmuladd is "a * b + c, rounded once or twice, as it pleases the CPU". The shipped code was
 * rounded as its own features had it, and a variant must do the same.
 */
#include <llvm-c/Core.h>

/*
 * Numbers that do not fit: undefined, and yet programs rely on what the CPU's scalar instruction for
 * a wider type leaves. Before optimization, conversions become what that instruction does, so that
 * neither vectors nor other instruction sets give something else. (64-bit unsigned ones are left.)
 */
void fp__widen_conversions(LLVMModuleRef module);

/* Before features are added: functions shipped with FMA round once for good. */
void fp__keep_shipped_fma(LLVMModuleRef module);

/*
 * After optimization, since constants fold as if rounded once in the shipped code too: all that are
 * left round twice.
 */
void fp__split_fmuladd(LLVMModuleRef module);

#endif
