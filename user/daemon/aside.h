/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_DAEMON_ASIDE_H
#define HALO_DAEMON_ASIDE_H

/*
 * Whoever reads another process's memory waits for as long as that process likes: its pages may come
 * from a file system of its own making, or from userfaultfd(2). So a process of its own does that, and
 * is left behind when it takes too long. It outlives the daemon, too: it can't be ended by it, has
 * all signals blocked that can be, and holds none of the daemon's descriptors but those in @keep.
 */
#include <stdbool.h>
#include <stddef.h>

#include "../lib/err.h"

#define HALO_ASIDE_KEEP 8 /* descriptors */

struct halo_aside {
	void *shared;
	size_t size; /* of the context */
	int end;     /* readable when the process has ended */
};

/*
 * Begin fn(@ctx) in a process of its own, on a copy of @ctx's @size bytes; halo_aside__finish() must
 * follow. On an error nothing was begun.
 */
int halo_aside__start(int (*fn)(void *ctx), const void *ctx, size_t size, const int *keep,
		      size_t n_keep, struct halo_aside *aside, struct halo_err *err);
/* Whether it ends within @ms milliseconds. */
bool halo_aside__wait(const struct halo_aside *aside, unsigned int ms);
/*
 * What fn returned, with @ctx as fn left it; or -ETIME, with @ctx untouched and @err set, when it has
 * not ended: it is left behind.
 */
int halo_aside__finish(struct halo_aside *aside, void *ctx, struct halo_err *err);

/* All of it, with @ms milliseconds in between; what it returns is said above. */
int halo_aside__run(int (*fn)(void *ctx), void *ctx, size_t size, const int *keep, size_t n_keep,
		    unsigned int ms, struct halo_err *err);

#endif
