/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_SANDBOX_H
#define OPT_SANDBOX_H

#include "../user/lib/err.h"

/*
 * Before anything of the program is read: limits on memory, CPU time, files and file sizes, no new
 * privileges, no file that it was not given but the system's programs and libraries and what lies in
 * @dir_fd, if that is not -1, and no system call but those that compiling needs. The linker, which is
 * started later, is held in the same way.
 */
int sandbox__enter(int dir_fd, struct halo_err *err);

#endif
