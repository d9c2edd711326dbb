/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_BRANCHES_CHECK_H
#define HALO_BRANCHES_CHECK_H

/*
 * Can a fall-through range be true? Records of hardware are wrong at times; what a range covers can be
 * decoded, and nothing falls through a jump or from one function into the next.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../lib/figures.h"

/* The code of a file, by link-time addresses. Functions return false, or NULL, for what they don't know. */
struct halo_code {
	void *ctx;
	const uint8_t *(*bytes)(void *ctx, uint64_t vaddr, size_t *size);
	bool (*function)(void *ctx, uint64_t vaddr, uint64_t *begin, uint64_t *end);
};

#define HALO_RANGE_GOOD HALO_CHECK_FIRST

/*
 * Of the range from the instruction at @begin to the one at @end: HALO_RANGE_GOOD,
 * HALO_CHECK_UNCHECKED, or why it is none.
 */
enum halo_check halo_range__check(const struct halo_code *code, uint64_t begin, uint64_t end);

#endif
