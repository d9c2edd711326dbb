/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_CHOOSE_H
#define OPT_CHOOSE_H

/* Which section to compile, and why. */
#include "section.h"

/* What became of a function that had samples, or that was looked at for those of another. */
struct considered {
	const char *function; /* the program's, or @choice's own text */
	int64_t unit;	      /* -1: none */
	double share;
	const char *verdict;
	char reason[256];
};

struct choice {
	const struct halo_func *root; /* the first; NULL: none, and reason says why */
	char reason[256];
	struct section section; /* of the roots */
	struct considered *considered;
	size_t n_considered;
};

/* 0 also when there is nothing to choose. Release with choice__free(), on failure too. */
int choose__section(struct units *units, const struct profile *profile, const struct request *req,
		    struct choice *out, struct halo_err *err);
void choice__free(struct choice *choice);

/* NULL, or why no function of the program can be replaced. */
const char *choose__refuse_program(const struct halo_prepared *p);

/* choose_callers.c: the best caller of @fn for a root, by the calls in bitcode; NULL: none. */
const struct halo_func *choose__caller(struct units *units, const struct profile *profile,
				       const struct halo_func *fn, const bool *visited);

#endif
