/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_PROBES_H
#define OPT_PROBES_H

/* Where the blocks of the bitcode lie in the program, by its section of probes (tools/prepare/probes.h). */
#include "../user/lib/prepared.h"

struct probe {
	uint64_t addr; /* link-time, of the first instruction behind it */
	uint64_t function, number;
};

struct probes {
	struct probe *v; /* ascending by address */
	size_t n;
	uint64_t unknown; /* those of functions that can't be told from others of the name */
};

/* -ENODATA: the program has none. -EBADMSG: they are no probes. Release with probes__free(). */
int probes__read(const struct halo_prepared *p, struct probes *out, struct halo_err *err);
void probes__free(struct probes *probes);

#endif
