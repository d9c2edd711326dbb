/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_TALLY_H
#define HALO_TALLY_H

/* Counts by key, where keys are structs of one size without holes. */
#include <stddef.h>
#include <stdint.h>

struct halo_tally;

/* NULL: out of memory. At most @max keys. */
struct halo_tally *halo_tally__new(size_t key_size, size_t max);
void halo_tally__free(struct halo_tally *t);
/* Add to both counts of @key. -ENOSPC: there are @max others, and it is counted in dropped. */
int halo_tally__add(struct halo_tally *t, const void *key, uint64_t count, uint64_t second);
/* The place of a key that is there, in the order in which they came. */
size_t halo_tally__find(const struct halo_tally *t, const void *key);
size_t halo_tally__size(const struct halo_tally *t);
/* Sum of the first counts that found no room. */
uint64_t halo_tally__dropped(const struct halo_tally *t);
/* The @i-th key that came, and its counts. */
const void *halo_tally__at(const struct halo_tally *t, size_t i, uint64_t *count, uint64_t *second);

#endif
