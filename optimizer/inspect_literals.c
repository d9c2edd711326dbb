// SPDX-License-Identifier: BSD-2-Clause
/*
 * Where the program's own literal is not found, an image has a copy. That they are two shows when
 * the address of one outlives the call or is compared: then the literal that one version returned is
 * not the one that another version returns. (What a callee does with an argument is not followed.)
 */
#include "inspect.h"
#include "ir.h"
#include "literals.h"

#define DEPTH_MAX 6

struct kept {
	const struct halo_prepared *p;
	bool compared;
};

/* Nobody tells empty strings by their address, but where it is compared. */
static int is_lost(LLVMValueRef global, void *ctx)
{
	const struct kept *k = ctx;

	if (!literals__is(global) || (!k->compared && literals__is_empty(global)))
		return 0;
	return literals__find(k->p, global).where == WHERE_NOWHERE;
}

static bool value_escapes(LLVMValueRef value, unsigned int depth);

/* A local variable that holds the address: does what is loaded from it go on? */
static bool variable_escapes(LLVMValueRef var, unsigned int depth)
{
	LLVMUseRef use;

	if (!LLVMIsAAllocaInst(var))
		return true;
	for (use = LLVMGetFirstUse(var); use; use = LLVMGetNextUse(use)) {
		LLVMValueRef user = LLVMGetUser(use);

		if (LLVMIsALoadInst(user)) {
			if (value_escapes(user, depth))
				return true;
		} else if (!ir__is_intrinsic(user, "llvm.") &&
			   (!LLVMIsAStoreInst(user) || LLVMGetOperand(user, 0) == var)) {
			return true;
		}
	}
	return false;
}

static bool use_escapes(LLVMValueRef user, LLVMValueRef value, unsigned int depth)
{
	LLVMValueRef other;

	switch (LLVMGetInstructionOpcode(user)) {
	case LLVMRet:
	case LLVMPtrToInt:
		return true;
	case LLVMICmp:
		other = LLVMGetOperand(user, LLVMGetOperand(user, 0) == value);
		return !LLVMIsConstant(other) || !LLVMIsNull(other);
	case LLVMStore:
		return LLVMGetOperand(user, 0) == value &&
		       variable_escapes(LLVMGetOperand(user, 1), depth);
	case LLVMPHI:
	case LLVMSelect:
	case LLVMGetElementPtr:
	case LLVMInsertValue:
	case LLVMFreeze:
		return value_escapes(user, depth);
	default:
		return false;
	}
}

static bool value_escapes(LLVMValueRef value, unsigned int depth)
{
	LLVMUseRef use;

	if (depth == DEPTH_MAX)
		return true;
	for (use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use))
		if (use_escapes(LLVMGetUser(use), value, depth + 1))
			return true;
	return false;
}

bool inspect__keeps_literal(const struct halo_prepared *p, LLVMValueRef fn)
{
	ir__for_each_block(block, fn)
	{
		ir__for_each_inst(inst, block)
		{
			struct kept k = {.p = p, .compared = LLVMIsAICmpInst(inst)};
			int i, n = LLVMGetNumOperands(inst);

			for (i = 0; i < n; i++) {
				LLVMValueRef op = LLVMGetOperand(inst, i);

				if (op && !LLVMValueIsBasicBlock(op) && LLVMIsConstant(op) &&
				    use_escapes(inst, op, 0) && ir__visit_globals(op, is_lost, &k))
					return true;
			}
		}
	}
	return false;
}
