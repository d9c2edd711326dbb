/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_SANDBOX_INTERNAL_H
#define OPT_SANDBOX_INTERNAL_H

/*
 * From now on, no file may be opened by its path but the system's programs and libraries, to read, and
 * what lies in the folder, to read and write; -1: in none. 0 too where the kernel has no Landlock; else
 * -errno. No new privileges must have been given up before.
 */
int landlock__enter(int dir_fd);

#endif
