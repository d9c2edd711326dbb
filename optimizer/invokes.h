/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_INVOKES_H
#define OPT_INVOKES_H

/*
 * Cleanups that never run. C++ has one behind nearly every call; where the shipped build had found that
 * nothing throws, none is left, and an image could not bind the personality function, which the
 * program does not have. Such a unit's invokes become calls.
 */
#include "words.h"

void invokes__lower(const struct words *words, const struct halo_prepared *p, uint32_t unit,
		    LLVMModuleRef module);

#endif
