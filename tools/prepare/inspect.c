// SPDX-License-Identifier: BSD-2-Clause
/* Which functions get a slot. */
#include <stdlib.h>
#include <string.h>

#include <halo/prepared.h>

#include "probes.h"
#include "unit.h"

/*
 * An indirect jump costs about 0.4 ns a call, so these many IR instructions must be there. A loop
 * too small for MIN_LOOP was not vectorized and has little to gain; it often walks short strings.
 */
#define MIN_STRAIGHT 100
#define MIN_LOOP     14

enum visit {
	UNSEEN,
	ON_PATH,
	DONE
};

struct block {
	LLVMBasicBlockRef ref;
	enum visit visit;
	unsigned next; /* successor to look at next */
};

struct graph {
	struct block *blocks; /* sorted by ref */
	unsigned n;
	unsigned *path; /* depth-first path, indices of blocks */
};

static int compare_blocks(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)((const struct block *)a)->ref;
	uintptr_t y = (uintptr_t)((const struct block *)b)->ref;

	return x < y ? -1 : x > y;
}

static unsigned block_index(const struct graph *g, LLVMBasicBlockRef ref)
{
	struct block key = {.ref = ref};
	struct block *found = bsearch(&key, g->blocks, g->n, sizeof(key), compare_blocks);

	return (unsigned)(found - g->blocks);
}

static bool has_back_edge(struct graph *g, LLVMBasicBlockRef entry)
{
	unsigned depth = 0;

	g->path[depth++] = block_index(g, entry);
	while (depth) {
		struct block *b = &g->blocks[g->path[depth - 1]];
		LLVMValueRef end = LLVMGetBasicBlockTerminator(b->ref);
		struct block *next;

		b->visit = ON_PATH;
		if (b->next == LLVMGetNumSuccessors(end)) {
			b->visit = DONE;
			depth--;
			continue;
		}
		next = &g->blocks[block_index(g, LLVMGetSuccessor(end, b->next++))];
		if (next->visit == ON_PATH)
			return true;
		if (next->visit == UNSEEN)
			g->path[depth++] = (unsigned)(next - g->blocks);
	}
	return false;
}

static bool has_loop(LLVMValueRef func)
{
	struct graph g = {.n = LLVMCountBasicBlocks(func)};
	bool loop = false;
	unsigned i = 0;

	g.blocks = calloc(g.n, sizeof(*g.blocks));
	g.path = calloc(g.n, sizeof(*g.path));
	if (!g.blocks || !g.path)
		goto cleanup;
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(func); b; b = LLVMGetNextBasicBlock(b))
		g.blocks[i++].ref = b;
	qsort(g.blocks, g.n, sizeof(*g.blocks), compare_blocks);
	loop = has_back_edge(&g, LLVMGetEntryBasicBlock(func));
cleanup:
	free(g.path);
	free(g.blocks);
	return loop;
}

static bool has_instructions(LLVMValueRef func, unsigned min)
{
	uint64_t function, number;
	unsigned n = 0;

	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(func); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
		     i = LLVMGetNextInstruction(i)) {
			n += !halo_probe__read(i, &function, &number);
			if (n >= min)
				return true;
		}
	return false;
}

static bool returns_twice(LLVMValueRef inst)
{
	unsigned kind = LLVMGetEnumAttributeKindForName("returns_twice", 13);
	LLVMValueRef callee;

	if (!LLVMIsACallInst(inst) && !LLVMIsAInvokeInst(inst))
		return false;
	callee = LLVMGetCalledValue(inst);
	return LLVMGetCallSiteEnumAttribute(inst, LLVMAttributeFunctionIndex, kind) ||
	       (LLVMIsAFunction(callee) && halo_value__has_attr(callee, "returns_twice"));
}

static bool calls_returning_twice(LLVMValueRef func)
{
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(func); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
			if (returns_twice(i))
				return true;
	return false;
}

static bool is_listed(LLVMModuleRef ref, const char *list, LLVMValueRef func)
{
	LLVMValueRef global = LLVMGetNamedGlobal(ref, list);
	LLVMValueRef init = global ? LLVMGetInitializer(global) : NULL;
	int n = init && LLVMIsAConstantArray(init) ? LLVMGetNumOperands(init) : 0;

	for (int i = 0; i < n; i++)
		if (LLVMGetOperand(LLVMGetOperand(init, i), 1) == func)
			return true;
	return false;
}

static bool resolves_ifunc(LLVMModuleRef ref, LLVMValueRef func)
{
	for (LLVMValueRef i = LLVMGetFirstGlobalIFunc(ref); i; i = LLVMGetNextGlobalIFunc(i))
		if (LLVMGetGlobalIFuncResolver(i) == func)
			return true;
	return false;
}

static bool has_any_attr(LLVMValueRef func, const char *const *strings)
{
	for (; *strings; strings++)
		if (halo_value__has_string_attr(func, *strings))
			return true;
	return false;
}

bool halo_func__is_instrumented(LLVMValueRef func)
{
	static const char *const attrs[] = {
		"instrument-function-entry", "instrument-function-entry-inlined", "fentry-call",
		"function-instrument",	     "xray-instruction-threshold",	  NULL,
	};

	return has_any_attr(func, attrs) || halo_value__has_attr(func, "sanitize_hwaddress");
}

static bool has_other_entry(LLVMValueRef func)
{
	static const char *const attrs[] = {
		"patchable-function",
		"patchable-function-entry",
		"patchable-function-prefix",
		"split-stack",
		NULL,
	};

	return LLVMHasPrologueData(func) || LLVMHasPrefixData(func) || has_any_attr(func, attrs) ||
	       halo_value__has_attr(func, "nocf_check");
}

/* Entries that count change r11: conventions that have it free. Others may pass an argument in it. */
static bool frees_scratch(LLVMValueRef func)
{
	switch (LLVMGetFunctionCallConv(func)) {
	case LLVMCCallConv:
	case LLVMFastCallConv:
	case LLVMColdCallConv:
	case LLVMPreserveMostCallConv:
	case LLVMPreserveAllCallConv:
	case LLVMX8664SysVCallConv:
	case LLVMWin64CallConv:
	case LLVMX86VectorCallCallConv:
	case LLVMX86RegCallCallConv:
		return !halo_value__has_string_attr(func, "no_caller_saved_registers");
	default:
		return false;
	}
}

/*
 * Dead-argument elimination lets callers pass garbage where the optimized body ignores an argument.
 * A variant compiled another way may look at it.
 */
static bool callers_pass_garbage(LLVMValueRef func)
{
	for (LLVMUseRef use = LLVMGetFirstUse(func); use; use = LLVMGetNextUse(use)) {
		LLVMValueRef call = LLVMGetUser(use);
		unsigned n;

		if (!LLVMIsACallInst(call) && !LLVMIsAInvokeInst(call))
			continue;
		if (LLVMGetCalledValue(call) != func)
			continue;
		n = LLVMGetNumArgOperands(call);
		for (unsigned i = 0; i < n; i++)
			if (LLVMIsUndef(LLVMGetOperand(call, i)))
				return true;
	}
	return false;
}

/* The other way round: callers know the result without looking, so a local body returns garbage. */
static bool returns_garbage(LLVMValueRef func)
{
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(func); b; b = LLVMGetNextBasicBlock(b)) {
		LLVMValueRef end = LLVMGetBasicBlockTerminator(b);

		if (LLVMIsAReturnInst(end) && LLVMGetNumOperands(end) == 1 &&
		    LLVMIsUndef(LLVMGetOperand(end, 0)))
			return true;
	}
	return false;
}

bool halo_func__is_worth_it(LLVMValueRef func)
{
	return has_instructions(func, has_loop(func) ? MIN_LOOP : MIN_STRAIGHT);
}

static bool same_signature(LLVMValueRef func, const struct halo_origin *origin)
{
	return origin && origin->value == halo_func__signature(func);
}

unsigned halo_func__reason(const struct halo_module *m, LLVMValueRef func,
			   const struct halo_origin *origin)
{
	const char *section = LLVMGetSection(func);

	if (halo_func__is_accessor(func))
		return HALO_SMALL;
	if (!strcmp(halo_value__name(func), "main"))
		return HALO_MAIN;
	if (halo_value__has_attr(func, "naked"))
		return HALO_NAKED;
	if (halo_value__has_attr(func, "noreturn"))
		return HALO_NORETURN;
	if (section && !strncmp(section, ".text.startup", 13))
		return HALO_STARTUP;
	if (section && section[0])
		return HALO_SECTION;
	if (is_listed(m->ref, "llvm.global_ctors", func) ||
	    is_listed(m->ref, "llvm.global_dtors", func) || resolves_ifunc(m->ref, func))
		return HALO_STARTUP;
	/* Passes remove the attributes whose wish they have fulfilled, so the origin counts. */
	if (m->instrumented || (origin && origin->flags & HALO_ORIGIN_INSTRUMENTED))
		return HALO_SANITIZED;
	if (has_other_entry(func))
		return HALO_PROLOGUE;
	if (!frees_scratch(func))
		return HALO_REGISTERS;
	if (!same_signature(func, origin) || callers_pass_garbage(func))
		return HALO_ABI_CHANGED;
	if (!halo_value__has_string_attr(func, HALO_LOOP_ATTR) && !halo_func__is_worth_it(func))
		return HALO_SMALL;
	if (halo_value__has_attr(func, "returns_twice") || calls_returning_twice(func))
		return HALO_RETURNS_TWICE;
	return HALO_REDIRECTABLE;
}

static bool is_interposable(LLVMValueRef func)
{
	switch (LLVMGetLinkage(func)) {
	case LLVMWeakAnyLinkage:
	case LLVMWeakODRLinkage:
	case LLVMLinkOnceAnyLinkage:
	case LLVMLinkOnceODRLinkage:
		return !LLVMGetComdat(func);
	default:
		return false;
	}
}

/* enum halo_loops of it, in place. */
static unsigned loops_of(LLVMValueRef func)
{
	LLVMAttributeRef attr = LLVMGetStringAttributeAtIndex(
		func, LLVMAttributeFunctionIndex, HALO_LOOPS_ATTR, strlen(HALO_LOOPS_ATTR));
	unsigned len, loops = attr ? atoi(LLVMGetStringAttributeValue(attr, &len)) : 0;

	return (loops & HALO_FUNC_LOOPS_MASK) << HALO_FUNC_LOOPS_SHIFT;
}

unsigned halo_func__flags(const struct halo_module *m, LLVMValueRef func,
			  const struct halo_origin *origin)
{
	bool local = halo_value__is_local(func);
	unsigned flags = loops_of(func);

	if (origin ? origin->flags & HALO_ORIGIN_LOCAL : local)
		flags |= HALO_FUNC_LOCAL;
	if (!halo_func__is_accessor(func) &&
	    (!same_signature(func, origin) || (local && returns_garbage(func))))
		flags |= HALO_FUNC_ABI_CHANGED;
	if (m->ibt)
		flags |= HALO_FUNC_IBT;
	if (halo_value__has_string_attr(func, HALO_LOOP_ATTR))
		flags |= HALO_FUNC_LOOP;
	if (is_interposable(func))
		flags |= HALO_FUNC_WEAK;
	if (origin && origin->flags & HALO_ORIGIN_CALLED && !halo_func__is_called(func))
		flags |= HALO_FUNC_INLINED;
	return flags;
}
