// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>

#include "inspect.h"
#include "ir.h"

enum {
	UNSEEN,
	OPEN,
	DONE
};

struct node {
	LLVMBasicBlockRef block;
	unsigned int next; /* successor to visit next */
	int state;
	bool header;
};

static int compare(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	return (x->block > y->block) - (x->block < y->block);
}

static struct node *find(struct node *nodes, size_t n, LLVMBasicBlockRef block)
{
	struct node key = {.block = block};

	return bsearch(&key, nodes, n, sizeof(*nodes), compare);
}

/* Depth-first; an edge to a block that is still open closes a loop there. */
static void walk(struct node *nodes, size_t n, struct node **stack, LLVMBasicBlockRef entry)
{
	size_t depth = 0;
	struct node *top, *to;
	LLVMValueRef end;

	stack[depth++] = find(nodes, n, entry);
	stack[0]->state = OPEN;
	while (depth) {
		top = stack[depth - 1];
		end = LLVMGetBasicBlockTerminator(top->block);
		if (!end || top->next == LLVMGetNumSuccessors(end)) {
			top->state = DONE;
			depth--;
			continue;
		}
		to = find(nodes, n, LLVMGetSuccessor(end, top->next++));
		if (to->state == OPEN)
			to->header = true;
		if (to->state != UNSEEN)
			continue;
		to->state = OPEN;
		stack[depth++] = to;
	}
}

uint32_t inspect__loops(LLVMValueRef fn)
{
	size_t i = 0, n = LLVMCountBasicBlocks(fn);
	struct node *nodes = calloc(n + 1, sizeof(*nodes));
	struct node **stack = calloc(n + 1, sizeof(*stack));
	uint32_t loops = 0;

	if (nodes && stack && n) {
		ir__for_each_block(block, fn) nodes[i++].block = block;
		qsort(nodes, n, sizeof(*nodes), compare);
		walk(nodes, n, stack, LLVMGetEntryBasicBlock(fn));
		for (i = 0; i < n; i++)
			loops += nodes[i].header;
	}
	free(nodes);
	free(stack);
	return loops;
}
