// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>

#include "inspect.h"
#include "ir.h"
#include "resolve.h"

#define VECTOR_MAX_BITS 128 /* wider ones are passed differently by different CPUs */
#define TYPE_DEPTH_MAX	8

static const char handles_exceptions[] = "handles exceptions";
static const char lets_exceptions_pass[] = "an exception may pass through it";

static unsigned int scalar_bits(LLVMTypeRef type)
{
	switch (LLVMGetTypeKind(type)) {
	case LLVMIntegerTypeKind:
		return LLVMGetIntTypeWidth(type);
	case LLVMHalfTypeKind:
	case LLVMBFloatTypeKind:
		return 16;
	case LLVMFloatTypeKind:
		return 32;
	case LLVMX86_FP80TypeKind:
	case LLVMFP128TypeKind:
		return 128;
	default:
		return 64;
	}
}

static bool has_wide_vector(LLVMTypeRef type, int depth)
{
	unsigned int i, n;

	if (depth == TYPE_DEPTH_MAX)
		return true;
	switch (LLVMGetTypeKind(type)) {
	case LLVMVectorTypeKind:
		return LLVMGetVectorSize(type) * scalar_bits(LLVMGetElementType(type)) >
		       VECTOR_MAX_BITS;
	case LLVMScalableVectorTypeKind:
	case LLVMX86_AMXTypeKind:
		return true;
	case LLVMArrayTypeKind:
		return has_wide_vector(LLVMGetElementType(type), depth + 1);
	case LLVMStructTypeKind:
		n = LLVMCountStructElementTypes(type);
		for (i = 0; i < n; i++)
			if (has_wide_vector(LLVMStructGetTypeAtIndex(type, i), depth + 1))
				return true;
		return false;
	default:
		return false;
	}
}

static bool signature_has_wide_vector(LLVMTypeRef type)
{
	unsigned int i, n = LLVMCountParamTypes(type);
	LLVMTypeRef *params;
	bool wide;

	wide = has_wide_vector(LLVMGetReturnType(type), 0);
	params = calloc(n + 1, sizeof(LLVMTypeRef));
	if (!params)
		return true;
	LLVMGetParamTypes(type, params);
	for (i = 0; i < n && !wide; i++)
		wide = has_wide_vector(params[i], 0);
	free(params);
	return wide;
}

static const char *check_linkage(LLVMValueRef fn)
{
	switch (LLVMGetLinkage(fn)) {
	case LLVMWeakAnyLinkage:
	case LLVMLinkOnceAnyLinkage:
		return "weak: another definition may stand in for it";
	default:
		return NULL;
	}
}

static const char *check_attributes(LLVMValueRef fn)
{
	static const char *const instrumented[] = {
		"sanitize_address",   "sanitize_thread", "sanitize_memory",
		"sanitize_hwaddress", "sanitize_memtag", "sanitize_numerical_stability",
		"sanitize_realtime",  "safestack",	 "shadowcallstack",
		"presplitcoroutine",
	};
	static const char *const hooked[] = {
		"instrument-function-entry",
		"instrument-function-entry-inlined",
		"patchable-function",
		"patchable-function-entry",
		"fentry-call",
		"split-stack",
		"probe-stack",
		"function-instrument",
	};
	size_t i;

	for (i = 0; i < sizeof(instrumented) / sizeof(instrumented[0]); i++)
		if (ir__has_attr(fn, instrumented[i]))
			return "the build adds instrumentation to it";
	for (i = 0; i < sizeof(hooked) / sizeof(hooked[0]); i++)
		if (ir__string_attr(fn, hooked[i]))
			return "the build adds hooks to its entry";
	if (ir__has_attr(fn, "naked"))
		return "naked";
	if (LLVMHasPrefixData(fn) || LLVMHasPrologueData(fn))
		return "has data before its code";
	if (signature_has_wide_vector(LLVMGlobalGetValueType(fn)))
		return "its signature has vectors over 128 bits";
	return NULL;
}

static bool call_is_nounwind(LLVMValueRef call)
{
	unsigned int kind = LLVMGetEnumAttributeKindForName("nounwind", strlen("nounwind"));
	LLVMValueRef callee = ir__callee(call);

	return LLVMGetCallSiteEnumAttribute(call, LLVMAttributeFunctionIndex, kind) ||
	       (callee && LLVMGetEnumAttributeAtIndex(callee, LLVMAttributeFunctionIndex, kind));
}

/* Only what touches registers and memory operands: no names, labels or sections of its own. */
static const char *check_assembly(LLVMValueRef call)
{
	unsigned int i, n = LLVMGetNumArgOperands(call);

	for (i = 0; i < n; i++) {
		LLVMValueRef arg = LLVMGetOperand(call, i);

		if (LLVMIsAFunction(arg) || LLVMIsABlockAddress(arg))
			return "its assembly names a function or label";
	}
	return NULL;
}

static bool assembly_is_plain(LLVMValueRef assembly)
{
	size_t len, i;
	const char *text = LLVMGetInlineAsmAsmString(assembly, &len);

	for (i = 0; i < len; i++)
		if (text[i] == '.' || text[i] == ':' || text[i] == '"')
			return false;
	return !memmem(text, len, "call", 4) && !memmem(text, len, "rip", 3) &&
	       !memmem(text, len, "jmp", 3);
}

static const char *check_call(LLVMValueRef call, bool may_unwind)
{
	static const char *const odd[] = {
		"llvm.instrprof.",	    "llvm.coro.",	  "llvm.eh.sjlj.",
		"llvm.eh.dwarf.",	    "llvm.eh.return",	  "llvm.eh.unwind.",
		"llvm.pseudoprobe",	    "llvm.ubsantrap",	  "llvm.type.",
		"llvm.icall.branch.funnel", "llvm.returnaddress", "llvm.addressofreturnaddress"};
	LLVMValueRef called = LLVMGetCalledValue(call);
	size_t i;

	if (LLVMIsAInlineAsm(called))
		return assembly_is_plain(called) ? check_assembly(call)
						 : "its assembly has names or labels";
	if (LLVMIsACallInst(call) && LLVMGetTailCallKind(call) == LLVMTailCallKindMustTail)
		return "has a call that must be a tail call";
	for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		if (ir__is_intrinsic(call, odd[i]))
			return "uses a compiler feature that depends on where its code lies";
	if (!ir__is_intrinsic(call, "llvm.") &&
	    signature_has_wide_vector(LLVMGetCalledFunctionType(call)))
		return "calls a function with vectors over 128 bits";
	if (!may_unwind && !call_is_nounwind(call))
		return lets_exceptions_pass;
	return NULL;
}

static const char *check_inst(LLVMValueRef inst, bool may_unwind, bool unwinds)
{
	switch (LLVMGetInstructionOpcode(inst)) {
	case LLVMInvoke:
		return unwinds ? check_call(inst, true) : handles_exceptions;
	case LLVMLandingPad:
	case LLVMResume:
		return unwinds ? NULL : handles_exceptions;
	case LLVMCatchSwitch:
	case LLVMCatchPad:
	case LLVMCleanupPad:
		return "handles exceptions of a foreign kind";
	case LLVMIndirectBr:
		return "jumps to computed labels";
	case LLVMCallBr:
		return "jumps out of assembly";
	case LLVMCall:
		return check_call(inst, may_unwind);
	default:
		return NULL;
	}
}

static const char *check_body(LLVMValueRef fn, bool unwinds, uint32_t *instructions)
{
	bool may_unwind = unwinds || ir__has_attr(fn, "nounwind");
	const char *why;

	ir__for_each_block(block, fn)
	{
		ir__for_each_inst(inst, block)
		{
			(*instructions)++;
			why = check_inst(inst, may_unwind, unwinds);
			if (why)
				return why;
		}
	}
	return NULL;
}

/* The one kind of tables that landing.c knows how to bind; C has it too, for cleanups. */
static const char *check_personality(LLVMValueRef fn)
{
	const char *name;

	if (!LLVMHasPersonalityFn(fn))
		return NULL;
	name = resolve__name(LLVMGetPersonalityFn(fn));
	return strcmp(name, "__gxx_personality_v0") && strcmp(name, "__gcc_personality_v0")
		       ? "handles exceptions of a foreign kind"
		       : NULL;
}

static void explain(const struct halo_prepared *p, const char *why, struct facts *out)
{
	if (why == handles_exceptions || why == lets_exceptions_pass)
		snprintf(out->why, sizeof(out->why), "%s, for which variants are not made: %s", why,
			 p->no_unwind);
	else if (why != out->why)
		snprintf(out->why, sizeof(out->why), "%s", why);
}

void inspect__function(const struct units *units, uint32_t unit, LLVMValueRef fn,
		       enum request_fp fp, struct facts *out)
{
	const char *why;

	memset(out, 0, sizeof(*out));
	why = check_linkage(fn);
	if (!why)
		why = check_attributes(fn);
	if (!why)
		why = check_personality(fn);
	if (!why)
		why = check_body(fn, !units->p->no_unwind, &out->instructions);
	if (!why)
		why = inspect__fp(fn, fp, &out->floating);
	if (!why)
		why = inspect__references(units, unit, fn, out->why, sizeof(out->why));
	if (!why && units->p->no_unwind && inspect__may_unwind(units->p, unit, fn))
		why = lets_exceptions_pass;
	if (!why && inspect__keeps_literal(units->p, fn))
		why = "a string literal of it can be told by its address";
	if (why)
		explain(units->p, why, out);
	out->usable = !why;
	out->loops = inspect__loops(fn);
}
