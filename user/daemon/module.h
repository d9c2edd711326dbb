/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_MODULE_H
#define HALO_MODULE_H

/*
 * Files that a process has mapped as code. They are reached by its mappings, so it is the mapped file
 * that is looked at and not what has its name by now.
 */
#include "core.h"

/* The file that is mapped at @addr. -1 and errno. */
int halo_module__open_at(pid_t pid, uint64_t addr);

/*
 * The library @p as process @pid has it mapped: the enrolled file, or one of the same name and
 * contents. -1 and errno, ENOENT: it has it not.
 */
int halo_module__open(const struct halo_program *p, pid_t pid);

/* A library with the build-id, mapped by any process; *path is the caller's to free. -1: none. */
int halo_module__by_build_id(const struct halo_buildid *id, char **path);

#endif
