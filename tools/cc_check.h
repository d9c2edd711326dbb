/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_CC_CHECK_H
#define HALO_CC_CHECK_H

#include "err.h"

/*
 * Whether the executable at @path can be optimized while it runs: linkers reorder and drop
 * sections without a word. 0 also for what is no regular file. -ENODATA: nothing in it is prepared,
 * as when it is all assembly, which is no fault. Other -errno and @err: it is broken.
 */
int cc_check__executable(const char *path, struct halo_err *err);

#endif
