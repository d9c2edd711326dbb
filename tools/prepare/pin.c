// SPDX-License-Identifier: BSD-2-Clause
/*
 * Optimized code may shrink, split or fold a local variable that it sees all uses of; a variant
 * compiled from the unit as it was written would then read and write other memory. A variable in
 * llvm.compiler.used keeps its layout. Local functions that are not to be inlined keep their
 * signature the same way, so that they can be redirected; others can't have that, since the inliner
 * favours a local function with a single use. At a link nearly all functions are local: there those
 * with several uses can.
 */
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define KEEP_LIST "llvm.compiler.used"

static LLVMValueRef list_elements(LLVMModuleRef ref, const char *list, unsigned *n)
{
	LLVMValueRef global = LLVMGetNamedGlobal(ref, list);
	LLVMValueRef init = global ? LLVMGetInitializer(global) : NULL;

	*n = init && LLVMIsAConstantArray(init) ? LLVMGetNumOperands(init) : 0;
	return init;
}

static bool list_has(LLVMModuleRef ref, const char *list, LLVMValueRef value)
{
	unsigned n;
	LLVMValueRef init = list_elements(ref, list, &n);

	for (unsigned i = 0; i < n; i++)
		if (LLVMGetOperand(init, i) == value)
			return true;
	return false;
}

static void replace_list(LLVMModuleRef ref, LLVMValueRef *values, unsigned n)
{
	LLVMTypeRef ptr = LLVMPointerTypeInContext(LLVMGetModuleContext(ref), 0);
	LLVMValueRef old = LLVMGetNamedGlobal(ref, KEEP_LIST), list;

	if (old)
		LLVMDeleteGlobal(old);
	if (!n)
		return;
	list = LLVMAddGlobal(ref, LLVMArrayType2(ptr, n), KEEP_LIST);
	LLVMSetInitializer(list, LLVMConstArray2(ptr, values, n));
	LLVMSetLinkage(list, LLVMAppendingLinkage);
	LLVMSetSection(list, "llvm.metadata");
}

void halo_module__keep(LLVMModuleRef ref, LLVMValueRef *values, unsigned n)
{
	unsigned n_old;
	LLVMValueRef init = list_elements(ref, KEEP_LIST, &n_old), *all;

	if (!n)
		return;
	all = calloc(n_old + n, sizeof(*all));
	if (!all)
		abort();
	for (unsigned i = 0; i < n_old; i++)
		all[i] = LLVMGetOperand(init, i);
	memcpy(all + n_old, values, n * sizeof(*all));
	replace_list(ref, all, n_old + n);
	free(all);
}

bool halo_module__keeps(LLVMModuleRef ref, LLVMValueRef value)
{
	return list_has(ref, KEEP_LIST, value) || list_has(ref, "llvm.used", value);
}

/* Local now: at a link other units' variables are, too, unless the program exports them. */
static bool can_change(LLVMValueRef value, const struct halo_origin *origin)
{
	return halo_value__is_definition(value) && halo_value__is_local(value) &&
	       !(origin->flags & HALO_ORIGIN_KEPT);
}

/* One that may be merged with others is a constant: nothing is to be gained by changing it. */
static bool var_needs_pin(LLVMValueRef var, const struct halo_origin *origin)
{
	return !(origin->flags & HALO_ORIGIN_LOCAL) || !halo_var__is_copyable(var);
}

static bool has_two_uses(LLVMValueRef value)
{
	LLVMUseRef use = LLVMGetFirstUse(value);

	return use && LLVMGetNextUse(use);
}

static bool func_needs_pin(LLVMValueRef func, enum halo_phase phase)
{
	if (halo_value__has_attr(func, "optnone"))
		return false;
	if (halo_value__has_attr(func, "noinline"))
		return true;
	return phase != HALO_COMPILE && has_two_uses(func) && halo_func__is_worth_it(func);
}

/* A copy of another unit's is not the one that has a row. */
static bool is_own(LLVMModuleRef ref, enum halo_phase phase, const struct halo_origin *origin)
{
	uint64_t unit;

	return phase == HALO_FULL_LINK ||
	       (halo_module__own_unit(ref, &unit) && unit == origin->unit);
}

void halo_module__pin(LLVMModuleRef ref, enum halo_phase phase)
{
	LLVMValueRef *pins = calloc(halo_module__count(ref) + 1, sizeof(*pins));
	struct halo_origin origin;
	unsigned n = 0;

	if (!pins)
		abort();
	for (LLVMValueRef v = LLVMGetFirstGlobal(ref); v; v = LLVMGetNextGlobal(v))
		if (halo_origin__of(v, &origin) && can_change(v, &origin) &&
		    is_own(ref, phase, &origin) && var_needs_pin(v, &origin))
			pins[n++] = v;
	for (LLVMValueRef f = LLVMGetFirstFunction(ref); f; f = LLVMGetNextFunction(f))
		if (halo_origin__of(f, &origin) && can_change(f, &origin) &&
		    is_own(ref, phase, &origin) && func_needs_pin(f, phase))
			pins[n++] = f;
	halo_module__keep(ref, pins, n);
	free(pins);
}

static bool is_pinned(LLVMValueRef value)
{
	struct halo_origin origin;

	if (!LLVMIsAFunction(value) && !LLVMIsAGlobalVariable(value))
		return false;
	return halo_origin__of(value, &origin) && !(origin.flags & HALO_ORIGIN_KEPT);
}

void halo_module__unpin(LLVMModuleRef ref)
{
	unsigned n, kept = 0;
	LLVMValueRef init = list_elements(ref, KEEP_LIST, &n), *rest;

	if (!n)
		return;
	rest = calloc(n, sizeof(*rest));
	if (!rest)
		abort();
	for (unsigned i = 0; i < n; i++)
		if (!is_pinned(LLVMGetOperand(init, i)))
			rest[kept++] = LLVMGetOperand(init, i);
	replace_list(ref, rest, kept);
	free(rest);
}
