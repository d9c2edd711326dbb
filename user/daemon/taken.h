/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_TAKEN_H
#define HALO_TAKEN_H

/*
 * Branches of a program's shipped code, where the CPU records them: the worker makes of them what it else
 * has code count for. What is older than a minute is forgotten.
 */
#include "core.h"

/* From a drain. Only what begins and ends in the program's own file is kept. */
void halo_taken__edge(struct halo_program *p, const struct halo_edge_key *key, uint64_t count);
void halo_taken__range(struct halo_program *p, const struct halo_range_key *key, uint64_t count);

/* Whether there are so many that a profile can be made of them. */
bool halo_taken__enough(const struct halo_program *p);
/* Member "branches" of a request. */
json_object *halo_taken__request(const struct halo_program *p);

void halo_taken__free(struct halo_program *p);

#endif
