// SPDX-License-Identifier: BSD-2-Clause
/*
 * LLVM folds a * b + c of constants as if rounded once; code for a CPU without such an instruction
 * rounds twice. At a link, constants of one unit get into code of another, and what is folded then can't be
 * told from bitcode of either: a variant, made from that, would round otherwise. So from the link on
 * it is a product and a sum.
 */
#include <string.h>

#include "unit.h"

static bool is_fmuladd(LLVMValueRef inst)
{
	LLVMValueRef callee = LLVMIsACallInst(inst) ? LLVMGetCalledValue(inst) : NULL;

	return callee && LLVMIsAFunction(callee) &&
	       !strncmp(halo_value__name(callee), "llvm.fmuladd.", strlen("llvm.fmuladd."));
}

/* Its code rounds once at run time too. */
static bool has_fma(LLVMValueRef func)
{
	static const char key[] = "target-features";
	LLVMAttributeRef attr = LLVMGetStringAttributeAtIndex(func, LLVMAttributeFunctionIndex, key,
							      sizeof(key) - 1);
	const char *list, *at;
	unsigned len;

	if (!attr)
		return false;
	list = LLVMGetStringAttributeValue(attr, &len);
	for (at = list; (at = memmem(at, list + len - at, "+fma", 4)); at += 4)
		if (at + 4 == list + len || at[4] == ',' || at[4] == '4')
			return true;
	return false;
}

static void split(LLVMBuilderRef builder, LLVMValueRef inst)
{
	LLVMFastMathFlags flags = LLVMGetFastMathFlags(inst);
	LLVMValueRef product, sum;

	LLVMPositionBuilderBefore(builder, inst);
	product = LLVMBuildFMul(builder, LLVMGetOperand(inst, 0), LLVMGetOperand(inst, 1), "");
	if (LLVMIsAInstruction(product))
		LLVMSetFastMathFlags(product, flags);
	sum = LLVMBuildFAdd(builder, product, LLVMGetOperand(inst, 2), "");
	if (LLVMIsAInstruction(sum))
		LLVMSetFastMathFlags(sum, flags);
	LLVMReplaceAllUsesWith(inst, sum);
	LLVMInstructionEraseFromParent(inst);
}

static void split_all(LLVMBuilderRef builder, LLVMValueRef func)
{
	LLVMValueRef inst, next;

	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(func); b; b = LLVMGetNextBasicBlock(b)) {
		for (inst = LLVMGetFirstInstruction(b); inst; inst = next) {
			next = LLVMGetNextInstruction(inst);
			if (is_fmuladd(inst))
				split(builder, inst);
		}
	}
}

void halo_module__split_fmuladd(LLVMModuleRef ref)
{
	LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(ref));

	for (LLVMValueRef f = LLVMGetFirstFunction(ref); f; f = LLVMGetNextFunction(f))
		if (!has_fma(f))
			split_all(builder, f);
	LLVMDisposeBuilder(builder);
}
