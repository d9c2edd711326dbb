// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Target.h>

#include "unit.h"

/* llvm::CodeModel::Model, as the module flag "Code Model" holds it. */
#define CODE_MODEL_KERNEL 2
#define CODE_MODEL_LARGE  4

static bool any_function_has(LLVMModuleRef ref, const char *attr)
{
	LLVMValueRef f;

	for (f = LLVMGetFirstFunction(ref); f; f = LLVMGetNextFunction(f))
		if (halo_value__has_attr(f, attr))
			return true;
	return false;
}

static bool has_symbol_prefix(LLVMModuleRef ref, const char *prefix)
{
	size_t len = strlen(prefix);
	LLVMValueRef v;

	for (v = LLVMGetFirstFunction(ref); v; v = LLVMGetNextFunction(v))
		if (!strncmp(halo_value__name(v), prefix, len))
			return true;
	for (v = LLVMGetFirstGlobal(ref); v; v = LLVMGetNextGlobal(v))
		if (!strncmp(halo_value__name(v), prefix, len))
			return true;
	return false;
}

/* With retpolines an indirect jump must not be left to the branch predictor. */
static bool has_retpolines(LLVMModuleRef ref)
{
	static const char key[] = "target-features", feature[] = "+retpoline";

	for (LLVMValueRef f = LLVMGetFirstFunction(ref); f; f = LLVMGetNextFunction(f)) {
		LLVMAttributeRef attr = LLVMGetStringAttributeAtIndex(f, LLVMAttributeFunctionIndex,
								      key, sizeof(key) - 1);
		unsigned len;
		const char *list = attr ? LLVMGetStringAttributeValue(attr, &len) : NULL;

		if (list && memmem(list, len, feature, sizeof(feature) - 1))
			return true;
	}
	return false;
}

const char *halo_unit__refusal(LLVMModuleRef ref)
{
	const char *triple = LLVMGetTarget(ref), *text;
	uint64_t model = halo_module__flag(ref, "Code Model");
	size_t len;

	if (strncmp(triple, "x86_64", 6) || !strstr(triple, "linux") ||
	    LLVMPointerSize(LLVMGetModuleDataLayout(ref)) != 8)
		return "not 64-bit x86 Linux";
	if (LLVMGetModuleFlag(ref, "ThinLTO", 7) ||
	    LLVMGetModuleFlag(ref, "EnableSplitLTOUnit", 18))
		return "compiled for link-time optimization";
	if (model == CODE_MODEL_KERNEL || model == CODE_MODEL_LARGE)
		return "slots may be out of reach in this code model";
	if (any_function_has(ref, "sanitize_thread") || any_function_has(ref, "sanitize_memory"))
		return "thread or memory sanitizer";
	/* Their passes delete variables that they own, pinned or not. */
	if (LLVMGetNamedMetadata(ref, "llvm.gcov", 9) || has_symbol_prefix(ref, "llvm.instrprof."))
		return "counts coverage or edges";
	text = LLVMGetModuleInlineAsm(ref, &len);
	if (len && memmem(text, len, ".halo.unit", strlen(".halo.unit")))
		return "prepared before";
	return NULL;
}

uint64_t halo_abi__hash(LLVMValueRef func)
{
	static const char *const attrs[] = {
		"byval", "byref",    "sret",	  "inreg",	"zeroext",    "signext",
		"nest",	 "inalloca", "swiftself", "swifterror", "swiftasync", "preallocated",
	};
	unsigned n = LLVMCountParams(func);
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (unsigned i = 0; i <= n; i++) {
		for (unsigned k = 0; k < sizeof(attrs) / sizeof(attrs[0]); k++) {
			unsigned kind = LLVMGetEnumAttributeKindForName(attrs[k], strlen(attrs[k]));

			if (LLVMGetEnumAttributeAtIndex(func, i, kind))
				hash = (hash ^ (i << 8 | (k + 1))) * 0x100000001b3ULL;
		}
	}
	return hash;
}

static int compare_funcs(const void *a, const void *b)
{
	return strcmp(((const struct halo_origin_func *)a)->name,
		      ((const struct halo_origin_func *)b)->name);
}

static int compare_vars(const void *a, const void *b)
{
	return strcmp(((const struct halo_origin_var *)a)->name,
		      ((const struct halo_origin_var *)b)->name);
}

static bool record_funcs(struct halo_unit_state *u)
{
	size_t n = 0;

	for (LLVMValueRef f = LLVMGetFirstFunction(u->ref); f; f = LLVMGetNextFunction(f))
		n += halo_value__is_definition(f);
	u->funcs = calloc(n + 1, sizeof(*u->funcs));
	if (!u->funcs)
		return false;
	for (LLVMValueRef f = LLVMGetFirstFunction(u->ref); f; f = LLVMGetNextFunction(f)) {
		struct halo_origin_func *o = &u->funcs[u->n_funcs];

		if (!halo_value__is_definition(f))
			continue;
		o->name = strdup(halo_value__name(f));
		if (!o->name)
			return false;
		o->type = LLVMGlobalGetValueType(f);
		o->abi = halo_abi__hash(f);
		o->cc = LLVMGetFunctionCallConv(f);
		o->instrumented = halo_func__is_instrumented(f);
		o->called = halo_func__is_called(f);
		u->n_funcs++;
	}
	qsort(u->funcs, u->n_funcs, sizeof(*u->funcs), compare_funcs);
	return true;
}

static bool record_vars(struct halo_unit_state *u)
{
	LLVMTargetDataRef layout = LLVMGetModuleDataLayout(u->ref);
	size_t n = 0;

	for (LLVMValueRef v = LLVMGetFirstGlobal(u->ref); v; v = LLVMGetNextGlobal(v))
		n += halo_value__is_definition(v);
	u->vars = calloc(n + 1, sizeof(*u->vars));
	if (!u->vars)
		return false;
	for (LLVMValueRef v = LLVMGetFirstGlobal(u->ref); v; v = LLVMGetNextGlobal(v)) {
		struct halo_origin_var *o = &u->vars[u->n_vars];

		if (!halo_value__is_definition(v))
			continue;
		o->name = strdup(halo_value__name(v));
		if (!o->name)
			return false;
		o->size = LLVMABISizeOfType(layout, LLVMGlobalGetValueType(v));
		o->constant = LLVMIsGlobalConstant(v);
		u->n_vars++;
	}
	qsort(u->vars, u->n_vars, sizeof(*u->vars), compare_vars);
	return true;
}

struct halo_unit_state *halo_unit__new(LLVMModuleRef ref)
{
	struct halo_unit_state *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->ref = ref;
	u->ctx = LLVMGetModuleContext(ref);
	u->ibt = halo_module__flag(ref, "cf-protection-branch") != 0;
	u->asan = any_function_has(ref, "sanitize_address");
	u->instrumented = has_retpolines(ref);
	if (!record_funcs(u) || !record_vars(u)) {
		halo_unit__free(u);
		return NULL;
	}
	return u;
}

void halo_unit__free(struct halo_unit_state *u)
{
	if (!u)
		return;
	for (size_t i = 0; i < u->n_funcs; i++)
		free(u->funcs[i].name);
	for (size_t i = 0; i < u->n_vars; i++)
		free(u->vars[i].name);
	free(u->funcs);
	free(u->vars);
	free(u->bc);
	free(u);
}

struct halo_origin_func *halo_unit__func(const struct halo_unit_state *u, const char *name)
{
	struct halo_origin_func key = {.name = (char *)name};

	return bsearch(&key, u->funcs, u->n_funcs, sizeof(*u->funcs), compare_funcs);
}

struct halo_origin_var *halo_unit__var(const struct halo_unit_state *u, const char *name)
{
	struct halo_origin_var key = {.name = (char *)name};

	return bsearch(&key, u->vars, u->n_vars, sizeof(*u->vars), compare_vars);
}
