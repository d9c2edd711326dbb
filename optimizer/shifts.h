/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_SHIFTS_H
#define OPT_SHIFTS_H

/*
 * Shifts by the width of a number or more: undefined, and yet programs rely on what the CPU's scalar
 * instruction does, which takes the amount modulo the width. Vectors give zero. Before optimization,
 * amounts are masked; scalar code does not get longer by that.
 */
#include <llvm-c/Core.h>

void shifts__mask(LLVMModuleRef module);

#endif
