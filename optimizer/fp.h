/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_FP_H
#define OPT_FP_H

/*
 * llvm.fmuladd is "a * b + c, rounded once or twice, as it pleases the CPU". The shipped code was
 * rounded as its own features had it, and a variant must do the same.
 */
#include <stdbool.h>

#include <llvm-c/Core.h>

/*
 * Numbers that do not fit: undefined, and yet programs rely on what the CPU's scalar instruction for
 * a wider type leaves. Before optimization, conversions become what that instruction does, so that
 * neither vectors nor other instruction sets give something else. (64-bit unsigned ones are left.)
 */
void fp__widen_conversions(LLVMModuleRef module);

/* Before features are added: functions shipped with FMA round once for good. */
void fp__keep_shipped_fma(LLVMModuleRef module);

/* Before optimization: code that was shipped as written never had one folded. */
void fp__split_unoptimized(LLVMModuleRef module);

bool fp__has_fmuladd(LLVMModuleRef module);

/*
 * Of constants it folds as if rounded once, on every CPU. What a function's own constants are, the
 * compiler of the shipped code saw too; but what inlining or unrolling makes constant in a variant may
 * have been computed there, with two roundings. Whether there is such a thing is seen by
 * optimizing a copy in which all are hidden, so that they stay.
 */
void fp__hide_fmuladd(LLVMModuleRef module);
bool fp__has_foldable(LLVMModuleRef module);
/*
 * Hidden ones of constants that give the same with one rounding and with two become what they give,
 * which may make others constant. Whether there were any.
 */
bool fp__settle_hidden(LLVMModuleRef module);

/* After optimization: all that are left round twice. */
void fp__split_fmuladd(LLVMModuleRef module);

#endif
