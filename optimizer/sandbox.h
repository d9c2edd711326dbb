/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_SANDBOX_H
#define OPT_SANDBOX_H

#include "../user/lib/err.h"

/*
 * Before anything of the program is read: limits on memory, CPU time, files and file sizes, no new
 * privileges, and no system call that reaches other processes, the network, or the kernel's
 * administration. The linker, which is started later, is held in the same way.
 */
int sandbox__enter(struct halo_err *err);

#endif
