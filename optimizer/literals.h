/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_LITERALS_H
#define OPT_LITERALS_H

/* String literals, which have no row in the program's tables, since linkers merge them. */
#include "resolve.h"

/* A constant whose address its source can't name; nor is it a table of pointers, such as a vtable. */
bool literals__is(LLVMValueRef global);
bool literals__is_empty(LLVMValueRef literal);

/* Where the program has it: the one place in its constants that holds these bytes. */
struct place literals__find(const struct halo_prepared *p, LLVMValueRef literal);

#endif
