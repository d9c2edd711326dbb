// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../user/lib/util.h"
#include "flow.h"
#include "ir.h"

struct flow_place {
	LLVMBasicBlockRef block;
	size_t index;
};

static int by_block(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)((const struct flow_place *)a)->block;
	uintptr_t y = (uintptr_t)((const struct flow_place *)b)->block;

	return (x > y) - (x < y);
}

size_t flow__index(const struct flow *flow, LLVMBasicBlockRef block)
{
	const struct flow_place key = {.block = block};
	const struct flow_place *found = bsearch(&key, flow->places, flow->n, sizeof(key),
						 by_block);

	return found->index;
}

static unsigned int successors(LLVMBasicBlockRef block)
{
	LLVMValueRef end = LLVMGetBasicBlockTerminator(block);

	return end ? LLVMGetNumSuccessors(end) : 0;
}

static size_t successor(const struct flow *flow, size_t i, unsigned int k)
{
	return flow__index(flow, LLVMGetSuccessor(LLVMGetBasicBlockTerminator(flow->blocks[i]), k));
}

/* Blocks that the entry leads to. */
static void mark_reached(const struct flow *flow, bool *reached, size_t *stack)
{
	size_t depth = 1;

	stack[0] = 0;
	reached[0] = true;
	while (depth) {
		size_t i = stack[--depth];

		for (unsigned int k = 0; k < successors(flow->blocks[i]); k++) {
			size_t to = successor(flow, i, k);

			if (!reached[to])
				stack[depth++] = to;
			reached[to] = true;
		}
	}
}

/* Blocks that lead to an exit. */
static void mark_leaving(const struct flow *flow, bool *leaving)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t i = flow->n; i-- > 0;) {
			unsigned int n = successors(flow->blocks[i]);
			bool leaves = !n;

			for (unsigned int k = 0; k < n && !leaves; k++)
				leaves = leaving[successor(flow, i, k)];
			changed |= leaves && !leaving[i];
			leaving[i] |= leaves;
		}
	}
}

static bool has_jump(const struct flow *flow, size_t first, uint32_t to)
{
	for (size_t i = first; i < flow->n_jumps; i++)
		if (flow->jumps[i].to == to)
			return true;
	return false;
}

/* Each pair of blocks once, however many cases of a switch lead the same way. */
static void add_jumps(struct flow *flow, size_t from, const size_t *inner_of)
{
	size_t first = flow->n_jumps, i = flow->inner[from];

	for (unsigned int k = 0; k < successors(flow->blocks[i]); k++) {
		size_t to = inner_of[successor(flow, i, k)];

		if (to != SIZE_MAX && !has_jump(flow, first, to))
			flow->jumps[flow->n_jumps++] = (struct shim_jump){from, to};
	}
}

static int find_inner(struct flow *flow)
{
	__cleanup_free bool *reached = calloc(flow->n, sizeof(*reached));
	__cleanup_free bool *leaving = calloc(flow->n, sizeof(*leaving));
	__cleanup_free size_t *scratch = calloc(flow->n + 1, sizeof(*scratch));
	size_t edges = 0;

	if (!reached || !leaving || !scratch)
		return -ENOMEM;
	mark_reached(flow, reached, scratch);
	mark_leaving(flow, leaving);
	for (size_t i = 0; i < flow->n; i++) {
		edges += successors(flow->blocks[i]);
		scratch[i] = SIZE_MAX;
		if (!leaving[0] || !reached[i] || !leaving[i])
			continue;
		scratch[i] = flow->n_inner;
		flow->inner[flow->n_inner++] = i;
	}
	flow->jumps = calloc(edges + 1, sizeof(*flow->jumps));
	if (!flow->jumps)
		return -ENOMEM;
	for (size_t i = 0; i < flow->n_inner; i++)
		add_jumps(flow, i, scratch);
	return 0;
}

int flow__init(struct flow *flow, LLVMValueRef fn)
{
	size_t i = 0;

	*flow = (struct flow){.fn = fn, .n = LLVMCountBasicBlocks(fn)};
	flow->blocks = calloc(flow->n, sizeof(LLVMBasicBlockRef));
	flow->places = calloc(flow->n, sizeof(*flow->places));
	flow->counts = calloc(flow->n, sizeof(*flow->counts));
	flow->inner = calloc(flow->n, sizeof(*flow->inner));
	if (!flow->blocks || !flow->places || !flow->counts || !flow->inner)
		return -ENOMEM;
	ir__for_each_block(block, fn)
	{
		flow->blocks[i] = block;
		flow->places[i] = (struct flow_place){block, i};
		i++;
	}
	qsort(flow->places, flow->n, sizeof(*flow->places), by_block);
	return find_inner(flow);
}

int flow__infer(struct flow *flow)
{
	__cleanup_free uint64_t *counts = calloc(flow->n_inner + 1, sizeof(*counts));

	if (!counts)
		return -ENOMEM;
	for (size_t i = 0; i < flow->n_inner; i++)
		counts[i] = flow->counts[flow->inner[i]];
	if (flow->n_inner > 1)
		shim__infer_flow(counts, flow->n_inner, flow->jumps, flow->n_jumps);
	for (size_t i = 0; i < flow->n_inner; i++)
		flow->counts[flow->inner[i]] = counts[i];
	for (size_t i = 0; i < flow->n; i++)
		if (flow->counts[i] == FLOW_UNKNOWN)
			flow->counts[i] = 0;
	return 0;
}

void flow__free(struct flow *flow)
{
	free(flow->blocks);
	free(flow->places);
	free(flow->counts);
	free(flow->inner);
	free(flow->jumps);
	memset(flow, 0, sizeof(*flow));
}
