// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include <halo/prepared.h>
#include <llvm-c/Target.h>

#include "unit.h"

#define TYPE_DEPTH_MAX 8

/* The unit between its steps: a compiler process runs one pipeline at a time. */
static struct halo_unit_state *current;

static void forget(void)
{
	halo_unit__free(current);
	current = NULL;
}

/* Tables and llvm.compiler.used speak of locals by name, and private names are rewritten later. */
static void name_locals(LLVMModuleRef ref)
{
	for (LLVMValueRef v = LLVMGetFirstGlobal(ref); v; v = LLVMGetNextGlobal(v)) {
		if (!halo_value__is_definition(v) || !halo_value__is_local(v) ||
		    LLVMGetUnnamedAddress(v) == LLVMGlobalUnnamedAddr)
			continue;
		if (!*halo_value__name(v))
			LLVMSetValueName2(v, "halo.anonymous", strlen("halo.anonymous"));
		LLVMSetLinkage(v, LLVMInternalLinkage);
	}
}

void halo_prepare__start(LLVMModuleRef ref)
{
	const char *refusal = halo_unit__refusal(ref);
	size_t len;

	forget();
	if (refusal) {
		if (getenv("HALO_VERBOSE"))
			fprintf(stderr, "halo-cc: %s is not prepared: %s\n",
				LLVMGetSourceFileName(ref, &len), refusal);
		return;
	}
	name_locals(ref);
	current = halo_unit__new(ref);
	if (!current || halo_unit__embed(current)) {
		fprintf(stderr, "halo-cc: %s is not prepared: out of memory\n",
			LLVMGetSourceFileName(ref, &len));
		forget();
		return;
	}
	halo_unit__pin(current);
}

void halo_prepare__unpin(LLVMModuleRef ref)
{
	if (current && current->ref == ref)
		halo_unit__unpin(current);
}

/*
 * Give @value a section group of its own unless it is in one, so that its row lives and dies with
 * it. The source's own sections are left alone: linkers treat those of a group differently.
 */
static void put_in_group(struct halo_unit_state *u, LLVMValueRef value)
{
	const char *section = LLVMGetSection(value);
	LLVMComdatRef comdat;

	if (LLVMGetComdat(value) || (section && *section) ||
	    LLVMGetLinkage(value) == LLVMCommonLinkage)
		return;
	comdat = LLVMGetOrInsertComdat(u->ref, halo_value__name(value));
	LLVMSetComdatSelectionKind(comdat, LLVMNoDeduplicateComdatSelectionKind);
	LLVMSetComdat(value, comdat);
}

static void finish_func(struct halo_unit_state *u, struct halo_rows *rows, LLVMValueRef func,
			LLVMValueRef *slot)
{
	unsigned reason = halo_unit__reason(u, func);
	unsigned flags = halo_unit__func_flags(u, func);
	LLVMValueRef at;

	put_in_group(u, func);
	at = halo_unit__local_name(u, func);
	if (reason == HALO_REDIRECTABLE)
		*slot = halo_unit__make_entry(u, func, at);
	halo_rows__func(rows, func, at, *slot, flags, reason);
}

static bool wants_row(LLVMValueRef func)
{
	return halo_value__is_definition(func) && LLVMGetLinkage(func) != LLVMPrivateLinkage &&
	       halo_rows__can_name(halo_value__name(func));
}

static void finish_funcs(struct halo_unit_state *u, struct halo_rows *rows)
{
	LLVMValueRef *slots;
	unsigned n = 0;
	size_t max = 0;

	for (LLVMValueRef f = LLVMGetFirstFunction(u->ref); f; f = LLVMGetNextFunction(f))
		max++;
	slots = calloc(max + 1, sizeof(*slots));
	if (!slots)
		abort();
	for (LLVMValueRef f = LLVMGetFirstFunction(u->ref); f; f = LLVMGetNextFunction(f)) {
		if (!wants_row(f))
			continue;
		finish_func(u, rows, f, &slots[n]);
		n += slots[n] != NULL;
	}
	halo_module__keep(u->ref, slots, n);
	free(slots);
}

static bool holds_pointers(LLVMTypeRef type, int depth)
{
	unsigned i, n;

	switch (LLVMGetTypeKind(type)) {
	case LLVMPointerTypeKind:
		return true;
	case LLVMArrayTypeKind:
		return depth && holds_pointers(LLVMGetElementType(type), depth - 1);
	case LLVMStructTypeKind:
		n = LLVMCountStructElementTypes(type);
		for (i = 0; i < n && depth; i++)
			if (holds_pointers(LLVMStructGetTypeAtIndex(type, i), depth - 1))
				return true;
		return false;
	default:
		return false;
	}
}

/*
 * A local constant whose address nobody looks at needs no row, for a variant may have a copy: unless it
 * holds pointers, such as the vtable of a local class.
 */
static bool is_copyable(LLVMValueRef var)
{
	return halo_value__is_local(var) && LLVMGetUnnamedAddress(var) == LLVMGlobalUnnamedAddr &&
	       (LLVMGetLinkage(var) == LLVMPrivateLinkage ||
		!holds_pointers(LLVMGlobalGetValueType(var), TYPE_DEPTH_MAX));
}

static const struct halo_origin_var *row_origin(const struct halo_unit_state *u, LLVMValueRef var)
{
	const char *name = halo_value__name(var);
	const struct halo_origin_var *origin;

	if (!halo_value__is_definition(var) || !strncmp(name, "llvm.", 5) ||
	    !halo_rows__can_name(name))
		return NULL;
	if (is_copyable(var))
		return NULL;
	origin = halo_unit__var(u, name);
	if (!origin || origin->size != LLVMABISizeOfType(LLVMGetModuleDataLayout(u->ref),
							 LLVMGlobalGetValueType(var)))
		return NULL;
	return origin;
}

static void finish_vars(struct halo_unit_state *u, struct halo_rows *rows)
{
	LLVMValueRef *pins = calloc(u->n_vars + 1, sizeof(*pins));
	unsigned n = 0;

	if (!pins)
		abort();
	for (LLVMValueRef v = LLVMGetFirstGlobal(u->ref); v; v = LLVMGetNextGlobal(v)) {
		const struct halo_origin_var *origin = row_origin(u, v);

		if (!origin)
			continue;
		if (!u->asan)
			put_in_group(u, v);
		halo_rows__var(rows, v, origin);
		if (origin->pinned && !u->o0)
			pins[n++] = v;
	}
	halo_module__keep(u->ref, pins, n);
	free(pins);
}

static bool counts_edges(LLVMModuleRef ref)
{
	return LLVMGetNamedGlobal(ref, "__llvm_profile_raw_version") ||
	       LLVMGetNamedGlobal(ref, "__llvm_profile_filename");
}

static void finish(LLVMModuleRef ref, bool o0)
{
	struct halo_rows rows = {.unit = current};
	char *text = NULL;
	size_t size, len;

	if (!current || current->ref != ref)
		return;
	current->o0 = o0;
	current->instrumented |= counts_edges(ref);
	rows.f = open_memstream(&text, &size);
	if (!rows.f)
		abort();
	halo_rows__unit(&rows, LLVMGetSourceFileName(ref, &len));
	finish_vars(current, &rows);
	finish_funcs(current, &rows);
	fputs("\t.text\n", rows.f);
	if (fclose(rows.f))
		abort();
	LLVMAppendModuleInlineAsm(ref, text, size);
	free(text);
	forget();
}

void halo_prepare__finish(LLVMModuleRef ref)
{
	finish(ref, false);
}

void halo_prepare__finish_o0(LLVMModuleRef ref)
{
	finish(ref, true);
}
