/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_WORDS_H
#define OPT_WORDS_H

/*
 * Exception tables name types and personality functions by the address of a word that holds their
 * address. An image can have no such word of its own where that depends on the process, but the
 * program's own tables refer to words that nothing ever writes.
 */
#include "resolve.h"

struct word {
	uint64_t at;	    /* its link-time address */
	const char *import; /* what of another module it holds the address of; NULL: of this one */
	uint64_t target;    /* in this module */
};

struct words {
	struct word *list;
	size_t n;
};

/* Read .eh_frame and .gcc_except_table. What can't be understood is left out. */
int words__read(const struct halo_prepared *p, struct words *out, struct halo_err *err);
void words__free(struct words *words);

/*
 * Where a word with the address of @name is, which itself is at @place: WHERE_PROGRAM, WHERE_CONSTANT
 * or WHERE_NOWHERE.
 */
struct place words__place(const struct words *words, const struct halo_prepared *p,
			  const char *name, struct place place);

#endif
