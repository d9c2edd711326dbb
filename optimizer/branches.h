/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_BRANCHES_H
#define OPT_BRANCHES_H

/* What recorded branches of the shipped code say of the bitcode's blocks and calls. */
#include "probes.h"
#include "request.h"

struct block_count {
	uint64_t function, number; /* of its probe */
	uint64_t count;		   /* of all copies that passes made of the block */
};

struct call_count {
	uint64_t function, number; /* of the probe before the call */
	const struct halo_func *target;
	uint64_t count;
};

struct branches {
	struct block_count *blocks; /* all that the program has code of, ascending */
	size_t n_blocks;
	struct call_count *calls; /* ascending by probe */
	size_t n_calls;
};

/* Errors as those of probes__read(). Release with branches__free(). */
int branches__read(const struct halo_prepared *p, const struct request *req, struct branches *out,
		   struct halo_err *err);
void branches__free(struct branches *branches);

/* NULL: the program has no code of that block, so that nothing is known. */
const struct block_count *branches__block(const struct branches *branches, uint64_t function,
					  uint64_t number);
/* The calls behind one probe: *n of them. */
const struct call_count *branches__calls(const struct branches *branches, uint64_t function,
					 uint64_t number, size_t *n);

#endif
