/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_TABLES_H
#define OPT_TABLES_H

/* The exception tables of the program: which words they refer to. */
#include "../user/lib/prepared.h"

struct tables_words {
	uint64_t *list; /* link-time addresses */
	size_t n;
};

/*
 * Words that the tables take the address of a personality function or type from. Tables that contradict
 * themselves give less of them, or none. -ENOMEM. out->list is the caller's to free.
 */
int tables__find_words(const struct halo_prepared *p, struct tables_words *out);

#endif
