/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_PROFILE_H
#define OPT_PROFILE_H

/* Samples by function. */
#include "../user/lib/prepared.h"
#include "request.h"

/* Samples in code without bitcode, by symbol. */
struct profile_other {
	const char *name; /* the program's; "(no symbol)" */
	uint64_t count;
};

struct profile {
	const struct halo_prepared *p;
	const struct request *req;
	uint64_t total;
	uint64_t *count; /* by index in p->funcs; leaf samples */
	struct profile_other *other;
	size_t n_other;
};

int profile__build(const struct halo_prepared *p, const struct request *req, struct profile *out,
		   struct halo_err *err);
void profile__free(struct profile *profile);

/* Of all samples, 0 to 1. */
double profile__share(const struct profile *profile, const struct halo_func *fn);

/* How often samples show @caller directly above @fn on the stack. */
uint64_t profile__calls(const struct profile *profile, const struct halo_func *caller,
			const struct halo_func *fn);

#endif
