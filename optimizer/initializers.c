// SPDX-License-Identifier: BSD-2-Clause
#include <stdbool.h>

#include <llvm-c/Target.h>

#include "initializers.h"
#include "ir.h"
#include "resolve.h"

#define SIZE_MAX_BYTES 1024 /* larger ones are left as they are */
#define ALIGN_UNKNOWN  1

struct copy {
	LLVMTargetDataRef layout;
	LLVMBuilderRef builder;
	LLVMValueRef to;
	LLVMTypeRef i8, i64;
};

static void store_value(struct copy *c, LLVMValueRef value, unsigned long long offset)
{
	LLVMValueRef index = LLVMConstInt(c->i64, offset, 0), at, store;

	at = LLVMBuildInBoundsGEP2(c->builder, c->i8, c->to, &index, 1, "");
	store = LLVMBuildStore(c->builder, value, at);
	LLVMSetAlignment(store, ALIGN_UNKNOWN);
}

static void store_parts(struct copy *c, LLVMValueRef value, unsigned long long offset)
{
	LLVMTypeRef type = LLVMTypeOf(value);
	unsigned long long size;
	unsigned int i, n;

	if (LLVMIsNull(value) || LLVMIsUndef(value))
		return;
	switch (LLVMGetTypeKind(type)) {
	case LLVMStructTypeKind:
		n = LLVMCountStructElementTypes(type);
		for (i = 0; i < n; i++)
			store_parts(c, LLVMGetAggregateElement(value, i),
				    offset + LLVMOffsetOfElement(c->layout, type, i));
		break;
	case LLVMArrayTypeKind:
		n = (unsigned int)LLVMGetArrayLength2(type);
		size = LLVMABISizeOfType(c->layout, LLVMGetElementType(type));
		for (i = 0; i < n; i++)
			store_parts(c, LLVMGetAggregateElement(value, i), offset + i * size);
		break;
	default:
		store_value(c, value, offset);
	}
}

/* The nameless constant, all of which @inst copies; NULL: it does something else. */
static LLVMValueRef copied_constant(struct copy *c, LLVMValueRef inst)
{
	LLVMValueRef from, init, size;
	unsigned long long bytes;

	if (!ir__is_intrinsic(inst, "llvm.memcpy."))
		return NULL;
	from = LLVMGetOperand(inst, 1);
	size = LLVMGetOperand(inst, 2);
	if (!LLVMIsAGlobalVariable(from) || !LLVMIsGlobalConstant(from) ||
	    !resolve__is_local(from) || LLVMGetUnnamedAddress(from) != LLVMGlobalUnnamedAddr ||
	    !LLVMIsAConstantInt(size))
		return NULL;
	init = LLVMGetInitializer(from);
	if (!init || !ir__holds_address(init))
		return NULL;
	bytes = LLVMABISizeOfType(c->layout, LLVMTypeOf(init));
	return bytes <= SIZE_MAX_BYTES && LLVMConstIntGetZExtValue(size) == bytes ? init : NULL;
}

static void expand(struct copy *c, LLVMValueRef inst)
{
	LLVMValueRef init = copied_constant(c, inst);

	if (!init)
		return;
	c->to = LLVMGetOperand(inst, 0);
	LLVMPositionBuilderBefore(c->builder, inst);
	LLVMBuildMemSet(c->builder, c->to, LLVMConstInt(c->i8, 0, 0), LLVMGetOperand(inst, 2),
			ALIGN_UNKNOWN);
	store_parts(c, init, 0);
	LLVMInstructionEraseFromParent(inst);
}

void initializers__expand(LLVMModuleRef module)
{
	LLVMContextRef ctx = LLVMGetModuleContext(module);
	struct copy c = {
		.layout = LLVMGetModuleDataLayout(module),
		.builder = LLVMCreateBuilderInContext(ctx),
		.i8 = LLVMInt8TypeInContext(ctx),
		.i64 = LLVMInt64TypeInContext(ctx),
	};
	LLVMValueRef inst, next;

	ir__for_each_function(fn, module)
	{
		ir__for_each_block(block, fn)
		{
			for (inst = LLVMGetFirstInstruction(block); inst; inst = next) {
				next = LLVMGetNextInstruction(inst);
				expand(&c, inst);
			}
		}
	}
	LLVMDisposeBuilder(c.builder);
}
