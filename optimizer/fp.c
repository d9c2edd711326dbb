// SPDX-License-Identifier: BSD-2-Clause
#include "fp.h"
#include "ir.h"

static void replace(LLVMValueRef inst, LLVMValueRef by)
{
	LLVMReplaceAllUsesWith(inst, by);
	LLVMInstructionEraseFromParent(inst);
}

static void copy_flags(LLVMValueRef to, LLVMValueRef from)
{
	if (LLVMIsAInstruction(to) && LLVMCanValueUseFastMathFlags(to))
		LLVMSetFastMathFlags(to, LLVMGetFastMathFlags(from));
}

static void fuse(LLVMBuilderRef builder, LLVMValueRef inst)
{
	LLVMTypeRef type = LLVMTypeOf(inst);
	LLVMValueRef args[3] = {LLVMGetOperand(inst, 0), LLVMGetOperand(inst, 1),
				LLVMGetOperand(inst, 2)};
	unsigned int id = LLVMLookupIntrinsicID("llvm.fma", strlen("llvm.fma"));
	LLVMModuleRef module = LLVMGetGlobalParent(ir__callee(inst));
	LLVMValueRef fma = LLVMGetIntrinsicDeclaration(module, id, &type, 1), call;

	LLVMPositionBuilderBefore(builder, inst);
	call = LLVMBuildCall2(builder, LLVMGlobalGetValueType(fma), fma, args, 3, "");
	copy_flags(call, inst);
	replace(inst, call);
}

static void split(LLVMBuilderRef builder, LLVMValueRef inst)
{
	LLVMValueRef product, sum;

	LLVMPositionBuilderBefore(builder, inst);
	product = LLVMBuildFMul(builder, LLVMGetOperand(inst, 0), LLVMGetOperand(inst, 1), "");
	copy_flags(product, inst);
	sum = LLVMBuildFAdd(builder, product, LLVMGetOperand(inst, 2), "");
	copy_flags(sum, inst);
	replace(inst, sum);
}

static void rewrite(LLVMValueRef fn, LLVMBuilderRef builder,
		    void (*how)(LLVMBuilderRef, LLVMValueRef))
{
	LLVMValueRef inst, next;

	ir__for_each_block(block, fn)
	{
		for (inst = LLVMGetFirstInstruction(block); inst; inst = next) {
			next = LLVMGetNextInstruction(inst);
			if (ir__is_intrinsic(inst, "llvm.fmuladd."))
				how(builder, inst);
		}
	}
}

void fp__keep_shipped_fma(LLVMModuleRef module)
{
	LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
	const char *features;

	ir__for_each_function(fn, module)
	{
		features = ir__string_attr(fn, "target-features");
		if (ir__has_feature(features, "fma") || ir__has_feature(features, "fma4"))
			rewrite(fn, builder, fuse);
	}
	LLVMDisposeBuilder(builder);
}

void fp__split_fmuladd(LLVMModuleRef module)
{
	LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));

	ir__for_each_function(fn, module) rewrite(fn, builder, split);
	LLVMDisposeBuilder(builder);
}
