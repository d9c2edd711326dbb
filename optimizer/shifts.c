// SPDX-License-Identifier: BSD-2-Clause
#include "ir.h"
#include "shifts.h"

/* Narrower ones are done in 32 bits, where zero is what is left of them. */
static bool is_masked_by_cpu(LLVMTypeRef type)
{
	unsigned int width;

	if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind)
		return false;
	width = LLVMGetIntTypeWidth(type);
	return width == 32 || width == 64;
}

static bool is_variable_shift(LLVMValueRef inst)
{
	switch (LLVMGetInstructionOpcode(inst)) {
	case LLVMShl:
	case LLVMLShr:
	case LLVMAShr:
		return !LLVMIsConstant(LLVMGetOperand(inst, 1)) &&
		       is_masked_by_cpu(LLVMTypeOf(inst));
	default:
		return false;
	}
}

static void mask(LLVMBuilderRef builder, LLVMValueRef inst)
{
	LLVMTypeRef type = LLVMTypeOf(inst);
	LLVMValueRef limit = LLVMConstInt(type, LLVMGetIntTypeWidth(type) - 1, false);

	LLVMPositionBuilderBefore(builder, inst);
	LLVMSetOperand(inst, 1, LLVMBuildAnd(builder, LLVMGetOperand(inst, 1), limit, ""));
}

void shifts__mask(LLVMModuleRef module)
{
	LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));

	ir__for_each_function(fn, module)
	{
		ir__for_each_block(block, fn)
		{
			ir__for_each_inst(inst, block)
			{
				if (is_variable_shift(inst))
					mask(builder, inst);
			}
		}
	}
	LLVMDisposeBuilder(builder);
}
