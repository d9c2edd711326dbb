// SPDX-License-Identifier: BSD-2-Clause
/*
 * Optimized code may shrink, split or fold a local variable that it sees all uses of; a variant
 * compiled from the unit as it was written would then read and write other memory. A variable in
 * llvm.compiler.used keeps its layout. Local functions that are not to be inlined keep their
 * signature the same way, so that they can be redirected; others can't have that, since the inliner
 * favours a local function with a single use.
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

static bool is_kept(LLVMModuleRef ref, LLVMValueRef value)
{
	return list_has(ref, KEEP_LIST, value) || list_has(ref, "llvm.used", value);
}

static bool var_needs_pin(LLVMModuleRef ref, LLVMValueRef var)
{
	return halo_value__is_definition(var) && halo_value__is_local(var) &&
	       LLVMGetUnnamedAddress(var) != LLVMGlobalUnnamedAddr &&
	       strncmp(halo_value__name(var), "llvm.", 5) && !is_kept(ref, var);
}

static bool func_needs_pin(LLVMModuleRef ref, LLVMValueRef func)
{
	return halo_value__is_definition(func) && halo_value__is_local(func) &&
	       halo_value__has_attr(func, "noinline") && !halo_value__has_attr(func, "optnone") &&
	       !is_kept(ref, func);
}

void halo_unit__pin(struct halo_unit_state *u)
{
	LLVMValueRef *pins = calloc(u->n_vars + u->n_funcs + 1, sizeof(*pins));
	unsigned n = 0;

	if (!pins)
		abort();
	for (LLVMValueRef v = LLVMGetFirstGlobal(u->ref); v; v = LLVMGetNextGlobal(v)) {
		struct halo_origin_var *origin = halo_unit__var(u, halo_value__name(v));

		if (!origin || !var_needs_pin(u->ref, v))
			continue;
		origin->pinned = true;
		pins[n++] = v;
	}
	for (LLVMValueRef f = LLVMGetFirstFunction(u->ref); f; f = LLVMGetNextFunction(f)) {
		struct halo_origin_func *origin = halo_unit__func(u, halo_value__name(f));

		if (!origin || !func_needs_pin(u->ref, f))
			continue;
		origin->pinned = true;
		pins[n++] = f;
	}
	halo_module__keep(u->ref, pins, n);
	free(pins);
}

static bool is_pinned(const struct halo_unit_state *u, LLVMValueRef value)
{
	const struct halo_origin_func *func;
	const struct halo_origin_var *var;

	if (LLVMIsAFunction(value)) {
		func = halo_unit__func(u, halo_value__name(value));
		return func && func->pinned;
	}
	var = LLVMIsAGlobalVariable(value) ? halo_unit__var(u, halo_value__name(value)) : NULL;
	return var && var->pinned;
}

void halo_unit__unpin(struct halo_unit_state *u)
{
	unsigned n, kept = 0;
	LLVMValueRef init = list_elements(u->ref, KEEP_LIST, &n), *rest;

	if (!n)
		return;
	rest = calloc(n, sizeof(*rest));
	if (!rest)
		abort();
	for (unsigned i = 0; i < n; i++)
		if (!is_pinned(u, LLVMGetOperand(init, i)))
			rest[kept++] = LLVMGetOperand(init, i);
	replace_list(u->ref, rest, kept);
	free(rest);
}
