/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_ANSWER_H
#define OPT_ANSWER_H

/* The answer of docs/formats/job.md. */
#include "choose.h"
#include "link.h"
#include "pgo.h"

struct answer_times {
	double read, section, optimize, emit, link; /* milliseconds */
};

/* All of these return an object that the caller owns. */

json_object *answer__error(const struct halo_err *err);

/* Nothing worth optimizing, or, where a root was chosen, no variant of it to be had. */
json_object *answer__none(const struct choice *choice, const char *reason);

/* @map: what is counted and where; NULL: nothing. @inferred: what recorded branches tell; NULL: none are. */
json_object *answer__ok(const struct choice *choice, const struct image *image,
			const uint8_t hash[32], const struct pgo_map *map,
			const struct request_profile *inferred, const struct answer_times *times);

/* Write it whole to descriptor @fd. */
int answer__write(json_object *answer, int fd);

#endif
