/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_DAEMON_ASIDE_H
#define HALO_DAEMON_ASIDE_H

/*
 * Whoever reads another process's memory waits for as long as that process likes: its pages may come
 * from a file system of its own making, or from userfaultfd(2). So a process of its own does that, and
 * is left behind when it takes too long. It outlives the daemon, too: it can't be ended by it, has
 * all signals blocked that can be, and holds none of the daemon's descriptors but those in @keep.
 */
#include <stddef.h>

#include "../lib/err.h"

#define HALO_ASIDE_KEEP 8 /* descriptors */

/*
 * What fn(ctx) returns, with @ctx's @size bytes as it left them; or -ETIME after @ms
 * milliseconds, or another error, with @ctx untouched. Either way @err says what failed only if it
 * was not @fn.
 */
int halo_aside__run(int (*fn)(void *ctx), void *ctx, size_t size, const int *keep, size_t n_keep,
		    unsigned int ms, struct halo_err *err);

#endif
