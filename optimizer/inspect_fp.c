// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>

#include "inspect.h"
#include "ir.h"

static bool is_arithmetic(LLVMValueRef inst)
{
	switch (LLVMGetInstructionOpcode(inst)) {
	case LLVMFAdd:
	case LLVMFSub:
	case LLVMFMul:
	case LLVMFDiv:
		return true;
	default:
		return ir__is_intrinsic(inst, "llvm.fmuladd.");
	}
}

/* A loop hint of the source that lets the vectorizer reorder, with the CPU's width. */
static bool is_reordering_hint(LLVMValueRef hint)
{
	LLVMValueRef ops[2];
	unsigned int len;
	const char *name;

	if (!hint || !LLVMIsAMDNode(hint) || LLVMGetMDNodeNumOperands(hint) != 2)
		return false;
	LLVMGetMDNodeOperands(hint, ops);
	name = ops[0] ? LLVMGetMDString(ops[0], &len) : NULL;
	if (!name || !ops[1] || !LLVMIsAConstantInt(ops[1]))
		return false;
	if (strcmp(name, "llvm.loop.vectorize.enable") == 0)
		return LLVMConstIntGetZExtValue(ops[1]) != 0;
	return strcmp(name, "llvm.loop.vectorize.width") == 0 &&
	       LLVMConstIntGetZExtValue(ops[1]) > 1;
}

static bool has_reordering_hint(LLVMValueRef inst, unsigned int kind)
{
	LLVMValueRef loop = LLVMGetMetadata(inst, kind), *hints;
	unsigned int i, n;
	bool found = false;

	if (!loop)
		return false;
	n = LLVMGetMDNodeNumOperands(loop);
	hints = calloc(n + 1, sizeof(LLVMValueRef));
	if (!hints)
		return true;
	LLVMGetMDNodeOperands(loop, hints);
	for (i = 0; i < n && !found; i++)
		found = is_reordering_hint(hints[i]);
	free(hints);
	return found;
}

static bool has_fast_math_attr(LLVMValueRef fn)
{
	static const char *const names[] = {"unsafe-fp-math", "no-nans-fp-math", "no-infs-fp-math",
					    "no-signed-zeros-fp-math", "approx-func-fp-math"};
	const char *value;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		value = ir__string_attr(fn, names[i]);
		if (value && strncmp(value, "true", 4) == 0)
			return true;
	}
	return false;
}

const char *inspect__fp(LLVMValueRef fn, enum request_fp fp, bool *floating)
{
	LLVMFastMathFlags allowed = fp == FP_CONTRACT ? LLVMFastMathAllowContract
						      : LLVMFastMathNone;
	LLVMContextRef ctx = LLVMGetModuleContext(LLVMGetGlobalParent(fn));
	unsigned int kind = LLVMGetMDKindIDInContext(ctx, "llvm.loop", strlen("llvm.loop"));
	bool hint = false;

	ir__for_each_block(block, fn)
	{
		ir__for_each_inst(inst, block)
		{
			*floating |= is_arithmetic(inst);
			if (fp == FP_REASSOC)
				continue;
			if (LLVMCanValueUseFastMathFlags(inst) &&
			    (LLVMGetFastMathFlags(inst) & ~allowed))
				return "built with fast-math, so its results depend on how it is "
				       "optimized";
			if (fp == FP_EXACT &&
			    ir__is_intrinsic(inst, "llvm.experimental.constrained.fmuladd"))
				return "its multiply-adds depend on the CPU";
			hint |= has_reordering_hint(inst, kind);
		}
	}
	if (fp == FP_REASSOC)
		return NULL;
	if (hint && *floating)
		return "its source lets the compiler reorder floating-point operations in a loop";
	return *floating && has_fast_math_attr(fn) ? "built with fast-math, so its results depend "
						     "on how it is optimized"
						   : NULL;
}
