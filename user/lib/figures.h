/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_FIGURES_H
#define HALO_FIGURES_H

/* All that is counted on the way of a sample, with words for people: `status` has a line for each. */
#include <stddef.h>

#include <halo_bpf.h>

/* What the daemon finds wrong when it drains, after HALO_STATS of the kernel side. Append only. */
#define HALO_CHECKS(X)                                                                          \
	X(CROSS_FUNCTION, cross_function, BRANCHES,                                             \
	  "ranges dropped: from one function into another")                                     \
	X(CROSS_JUMP, cross_jump, BRANCHES, "ranges dropped: over a jump or a return")          \
	X(NOT_CODE, not_code, BRANCHES, "ranges dropped: not from one instruction to a branch") \
	X(UNCHECKED, unchecked, BRANCHES, "ranges that could not be checked: no code to look at")

enum halo_check {
	HALO_CHECK_FIRST = HALO_STAT_MAX - 1,
#define HALO_CHECK_ENUM(name, member, of, text) HALO_CHECK_##name,
	HALO_CHECKS(HALO_CHECK_ENUM)
#undef HALO_CHECK_ENUM
	HALO_FIGURES_MAX
};

struct halo_figure {
	const char *key;
	const char *text;
	size_t of; /* index of the figure that it is a share of; its own: of none */
};

/* By enum halo_stat, then by enum halo_check. */
extern const struct halo_figure halo_figures[HALO_FIGURES_MAX];

#endif
