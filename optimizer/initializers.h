/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_INITIALIZERS_H
#define OPT_INITIALIZERS_H

/*
 * "struct ops o = {.run = run};" in a function is a copy of a constant that has no name, and that the
 * program may have lost. An image can't have one of its own, with addresses in it, so the copy
 * becomes what it does: zeros, and a store of each value.
 */
#include <llvm-c/Core.h>

void initializers__expand(LLVMModuleRef module);

#endif
