/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_WORKER_PATH_H
#define HALO_WORKER_PATH_H

#include "../lib/err.h"

/* Open halo-opt: at @path, or beside this program, or in the system's folders if @path is NULL. */
int halo_worker__open(const char *path, int *fd, struct halo_err *err);

#endif
