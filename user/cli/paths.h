/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_CLI_PATHS_H
#define HALO_CLI_PATHS_H

/*
 * Files that belong to this program, found from where its executable lies: in the folder that it
 * was built in, or installed. New strings, NULL if there is no such file.
 */
char *paths__find_opt(void);
char *paths__find_knobs(void);
/* An executable of that name in PATH. */
char *paths__find_program(const char *name);

#endif
