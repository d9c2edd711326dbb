/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_FP_H
#define OPT_FP_H

/*
 * llvm.fmuladd is "a * b + c, rounded once or twice, as it pleases the CPU". The shipped code was
 * rounded as its own features had it, and a variant must do the same.
 */
#include <llvm-c/Core.h>

/* Before features are added: functions shipped with FMA round once for good. */
void fp__keep_shipped_fma(LLVMModuleRef module);

/*
 * After optimization, since constants fold as if rounded once in the shipped code too: all that are
 * left round twice.
 */
void fp__split_fmuladd(LLVMModuleRef module);

#endif
