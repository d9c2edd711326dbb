/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_ALIASES_H
#define OPT_ALIASES_H

/*
 * Names of a unit that mean another thing in it become that thing's name. Else there would be two
 * declarations for one thing, which LLVM takes to have two addresses. An alias that the rest of the
 * program may know otherwise (a weak one that lost the link) stays.
 */
#include <llvm-c/Core.h>

#include "../user/lib/prepared.h"

void aliases__merge(const struct halo_prepared *p, uint32_t unit, LLVMModuleRef module);

#endif
