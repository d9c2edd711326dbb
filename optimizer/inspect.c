// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>

#include "../tools/prepare/probes.h"
#include "inspect.h"
#include "ir.h"
#include "resolve.h"

static const char handles_exceptions[] = "handles exceptions";
static const char lets_exceptions_pass[] = "an exception may pass through it";

/* A weak definition that won the link is the only one that an executable ever has. */
static bool has_won(const struct units *units, uint32_t unit, LLVMValueRef fn)
{
	const struct halo_func *row = resolve__func(units->p, unit, fn);
	struct place place = resolve__external(units->p, resolve__name(fn));

	return row && row->unit == unit && !units->p->is_library && place.where == WHERE_PROGRAM &&
	       place.addr == row->addr;
}

static const char *check_linkage(const struct units *units, uint32_t unit, LLVMValueRef fn)
{
	switch (LLVMGetLinkage(fn)) {
	case LLVMWeakAnyLinkage:
	case LLVMLinkOnceAnyLinkage:
		return has_won(units, unit, fn) ? NULL
						: "weak: another definition may stand in for it";
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
	return NULL;
}

static bool call_is_nounwind(LLVMValueRef call)
{
	unsigned int kind = LLVMGetEnumAttributeKindForName("nounwind", strlen("nounwind"));
	LLVMValueRef callee = ir__callee(call);

	return LLVMGetCallSiteEnumAttribute(call, LLVMAttributeFunctionIndex, kind) ||
	       (callee && LLVMGetEnumAttributeAtIndex(callee, LLVMAttributeFunctionIndex, kind));
}

static const char *check_call(const struct units *units, uint32_t unit, LLVMValueRef call,
			      bool may_unwind)
{
	static const char *const odd[] = {"llvm.instrprof.",
					  "llvm.coro.",
					  "llvm.eh.sjlj.",
					  "llvm.eh.dwarf.",
					  "llvm.eh.return",
					  "llvm.eh.unwind.",
					  "llvm.ubsantrap",
					  "llvm.type.",
					  "llvm.icall.branch.funnel",
					  "llvm.returnaddress",
					  "llvm.addressofreturnaddress"};
	LLVMValueRef called = LLVMGetCalledValue(call);
	size_t i;

	if (LLVMIsAInlineAsm(called))
		return inspect__assembly(units->p, unit, call);
	for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		if (ir__is_intrinsic(call, odd[i]))
			return "uses a compiler feature that depends on where its code lies";
	if (!may_unwind && !call_is_nounwind(call))
		return lets_exceptions_pass;
	return NULL;
}

static const char *check_inst(const struct units *units, uint32_t unit, LLVMValueRef inst,
			      bool may_unwind, bool unwinds)
{
	switch (LLVMGetInstructionOpcode(inst)) {
	case LLVMInvoke:
		return unwinds ? check_call(units, unit, inst, true) : handles_exceptions;
	case LLVMLandingPad:
	case LLVMResume:
		return unwinds ? NULL : handles_exceptions;
	case LLVMCatchSwitch:
	case LLVMCatchPad:
	case LLVMCleanupPad:
		return "handles exceptions of a foreign kind";
	case LLVMIndirectBr:
		return "jumps to labels that are kept in places which others may read";
	case LLVMCallBr:
	case LLVMCall:
		return check_call(units, unit, inst, may_unwind);
	default:
		return NULL;
	}
}

static const char *check_body(const struct units *units, uint32_t unit, LLVMValueRef fn,
			      uint32_t *instructions)
{
	bool unwinds = !units->p->no_unwind;
	bool may_unwind = unwinds || ir__has_attr(fn, "nounwind");
	uint64_t function, number;
	const char *why;

	ir__for_each_block(block, fn)
	{
		ir__for_each_inst(inst, block)
		{
			if (halo_probe__read(inst, &function, &number))
				continue;
			(*instructions)++;
			why = check_inst(units, unit, inst, may_unwind, unwinds);
			if (why)
				return why;
		}
	}
	return NULL;
}

/* The one kind of tables that landing.c knows how to bind; C has it too, for cleanups, and Rust. */
static const char *check_personality(LLVMValueRef fn)
{
	static const char *const known[] = {
		"__gxx_personality_v0",
		"__gcc_personality_v0",
		"rust_eh_personality",
	};
	const char *name;
	size_t i;

	if (!LLVMHasPersonalityFn(fn))
		return NULL;
	name = resolve__name(LLVMGetPersonalityFn(fn));
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(name, known[i]) == 0)
			return NULL;
	return "handles exceptions of a foreign kind";
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
	why = check_linkage(units, unit, fn);
	if (!why)
		why = check_attributes(fn);
	if (!why)
		why = check_personality(fn);
	if (!why)
		why = check_body(units, unit, fn, &out->instructions);
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
