/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_FIGURES_H
#define HALO_FIGURES_H

/* All that is counted on the way of a sample, with words for people: `status` has a line for each. */
#include <stddef.h>

#include <halo_bpf.h>

/* What the daemon finds wrong when it drains, after HALO_STATS of the kernel side. Append only. */
#define HALO_CHECKS(X)                                                                            \
	X(CROSS_FUNCTION, cross_function, BRANCHES,                                               \
	  "ranges dropped: from one function into another")                                       \
	X(CROSS_JUMP, cross_jump, BRANCHES, "ranges dropped: over a jump or a return")            \
	X(NOT_CODE, not_code, BRANCHES, "ranges dropped: not from one instruction to a branch")   \
	X(UNCHECKED, unchecked, BRANCHES, "ranges that could not be checked: no code to look at") \
	X(BY_RULES, by_rules, SAMPLES, "contexts found by frame descriptions alone")              \
	X(BY_FP, by_fp, SAMPLES, "contexts with callers found by frame pointers: not certain")    \
	X(LEAVES, leaves, SAMPLES, "contexts without a caller that is certain")                   \
	X(WHOLE, whole, SAMPLES, "contexts that reach the outermost caller")                      \
	X(CUT_DEPTH, cut_depth, SAMPLES, "contexts cut: deeper than is kept")                     \
	X(CUT_UNMAPPED, cut_unmapped, SAMPLES,                                                    \
	  "contexts cut: the next caller is where nothing is known to be mapped")                 \
	X(CUT_NO_RULE, cut_no_rule, SAMPLES,                                                      \
	  "contexts cut: neither a description of the frame nor a frame pointer")                 \
	X(CUT_READ, cut_read, SAMPLES, "contexts cut: the stack is not in memory")                \
	X(CUT_STACK, cut_stack, SAMPLES, "contexts cut: the caller's frame would not be above")   \
	X(CUT_REG, cut_reg, SAMPLES, "contexts cut: a register is needed that is not known")

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
