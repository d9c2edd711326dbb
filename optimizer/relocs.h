/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_RELOCS_H
#define OPT_RELOCS_H

/*
 * Images are shared by processes that load the program at different addresses, so no word of theirs
 * may depend on where they are: linkers don't say a word about those.
 */
#include <stddef.h>

#include "../user/lib/err.h"

struct relocs {
	char **undefined; /* names that the object refers to, each once */
	size_t n_undefined;
};

/*
 * Look through an object of @size bytes. -EXDEV: it holds an absolute word, or one that only a GOT
 * could fill in, or writable data (tables of addresses are). Release with relocs__free(), on failure too.
 */
int relocs__scan(const void *data, size_t size, struct relocs *out, struct halo_err *err);
void relocs__free(struct relocs *relocs);

#endif
