// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>

#include <halo/prepared.h>
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
	if (model == CODE_MODEL_KERNEL || model == CODE_MODEL_LARGE)
		return "slots may be out of reach in this code model";
	if (any_function_has(ref, "sanitize_thread") || any_function_has(ref, "sanitize_memory"))
		return "thread or memory sanitizer";
	/* Their passes delete variables that they own, pinned or not. */
	if (LLVMGetNamedMetadata(ref, "llvm.gcov", 9) || has_symbol_prefix(ref, "llvm.instrprof."))
		return "counts coverage or edges";
	text = LLVMGetModuleInlineAsm(ref, &len);
	if (len && memmem(text, len, HALO_SEC_UNIT, strlen(HALO_SEC_UNIT)))
		return "prepared before";
	return NULL;
}

bool halo_module__is_lto(LLVMModuleRef ref)
{
	return LLVMGetModuleFlag(ref, "ThinLTO", strlen("ThinLTO")) ||
	       LLVMGetModuleFlag(ref, "EnableSplitLTOUnit", strlen("EnableSplitLTOUnit"));
}

static bool counts_edges(LLVMModuleRef ref)
{
	return LLVMGetNamedGlobal(ref, "__llvm_profile_raw_version") ||
	       LLVMGetNamedGlobal(ref, "__llvm_profile_filename");
}

bool halo_module__look(struct halo_module *m, LLVMModuleRef ref, enum halo_phase phase)
{
	*m = (struct halo_module){
		.ref = ref,
		.ctx = LLVMGetModuleContext(ref),
		.phase = phase,
		.ibt = halo_module__flag(ref, "cf-protection-branch") != 0,
		.asan = any_function_has(ref, "sanitize_address"),
		.instrumented = has_retpolines(ref) || counts_edges(ref),
	};
	return halo_module__own_unit(ref, &m->unit);
}
