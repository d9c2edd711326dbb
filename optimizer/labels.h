/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_LABELS_H
#define OPT_LABELS_H

/*
 * Computed goto ("labels as values"), which interpreters are made of. A label's address is a word that
 * differs from process to process, and the program's tables of them lead into the program's code. So
 * labels become small numbers, the jump a switch over them, which LLVM makes a table of distances
 * of, and the program's tables copies of the image's own.
 */
#include <llvm-c/Core.h>

/*
 * In all functions of a unit in which labels stay: they are never kept where another call of the
 * function, or another function, could find them. Others are left as they are.
 */
void labels__lower(LLVMModuleRef module);

#endif
