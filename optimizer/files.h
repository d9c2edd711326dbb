/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_FILES_H
#define OPT_FILES_H

#include <stddef.h>

#include "../user/lib/err.h"

/* Create or overwrite @name in the folder @dir. */
int files__write(int dir, const char *name, const void *data, size_t len, struct halo_err *err);

#endif
