// SPDX-License-Identifier: BSD-2-Clause
#include <math.h>
#include <string.h>

#include "fp.h"
#include "ir.h"

#define DEPTH_MAX 8

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

static void rewrite(LLVMValueRef fn, LLVMBuilderRef builder, bool (*what)(LLVMValueRef),
		    void (*how)(LLVMBuilderRef, LLVMValueRef))
{
	LLVMValueRef inst, next;

	ir__for_each_block(block, fn)
	{
		for (inst = LLVMGetFirstInstruction(block); inst; inst = next) {
			next = LLVMGetNextInstruction(inst);
			if (what(inst))
				how(builder, inst);
		}
	}
}

static LLVMTypeRef element_type(LLVMTypeRef type)
{
	return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

/* Of the instruction that x86-64 has for it; 0: the conversion is one already, or has none. */
static unsigned int wider(LLVMValueRef inst)
{
	LLVMTypeRef from = element_type(LLVMTypeOf(LLVMGetOperand(inst, 0)));
	unsigned int width = LLVMGetIntTypeWidth(element_type(LLVMTypeOf(inst)));

	switch (LLVMGetTypeKind(from)) {
	case LLVMHalfTypeKind:
	case LLVMBFloatTypeKind:
	case LLVMFloatTypeKind:
	case LLVMDoubleTypeKind:
		break;
	default:
		return 0;
	}
	if (width < 32)
		return 32;
	return width == 32 && LLVMGetInstructionOpcode(inst) == LLVMFPToUI ? 64 : 0;
}

static void widen(LLVMBuilderRef builder, LLVMValueRef inst)
{
	LLVMTypeRef narrow = LLVMTypeOf(inst), wide;
	unsigned int width = wider(inst);
	LLVMValueRef converted;

	if (!width)
		return;
	wide = LLVMIntTypeInContext(LLVMGetTypeContext(narrow), width);
	if (LLVMGetTypeKind(narrow) == LLVMVectorTypeKind)
		wide = LLVMVectorType(wide, LLVMGetVectorSize(narrow));
	LLVMPositionBuilderBefore(builder, inst);
	converted = LLVMBuildFPToSI(builder, LLVMGetOperand(inst, 0), wide, "");
	replace(inst, LLVMBuildTrunc(builder, converted, narrow, ""));
}

static bool is_fmuladd(LLVMValueRef inst)
{
	return ir__is_intrinsic(inst, "llvm.fmuladd.");
}

static bool is_hidden(LLVMValueRef inst)
{
	return ir__is_intrinsic(inst, "llvm.experimental.constrained.fmuladd.");
}

static int count_inputs(LLVMValueRef inst)
{
	if (!LLVMIsACallInst(inst))
		return LLVMGetNumOperands(inst);
	return is_hidden(inst) ? 3 : (int)LLVMGetNumArgOperands(inst);
}

/* Would be folded to a constant, were it not for hidden ones. */
static bool is_foldable(LLVMValueRef value, unsigned int depth)
{
	int i, n;

	if (LLVMIsConstant(value))
		return true;
	if (depth == DEPTH_MAX || !LLVMIsAInstruction(value) || LLVMIsAPHINode(value) ||
	    LLVMIsAAllocaInst(value) || LLVMIsALoadInst(value) ||
	    (LLVMIsACallInst(value) && !ir__is_intrinsic(value, "llvm.")))
		return false;
	n = count_inputs(value);
	for (i = 0; i < n; i++)
		if (!is_foldable(LLVMGetOperand(value, i), depth + 1))
			return false;
	return true;
}

static LLVMValueRef text_value(LLVMContextRef ctx, const char *text)
{
	return LLVMMetadataAsValue(ctx, LLVMMDStringInContext2(ctx, text, strlen(text)));
}

static bool is_conversion(LLVMValueRef inst)
{
	LLVMOpcode opcode = LLVMGetInstructionOpcode(inst);

	return opcode == LLVMFPToUI || opcode == LLVMFPToSI;
}

void fp__keep_shipped_fma(LLVMModuleRef module)
{
	LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
	const char *features;

	ir__for_each_function(fn, module)
	{
		features = ir__string_attr(fn, "target-features");
		if (ir__has_feature(features, "fma") || ir__has_feature(features, "fma4"))
			rewrite(fn, builder, is_fmuladd, fuse);
	}
	LLVMDisposeBuilder(builder);
}

/* The same operation, of which no pass knows anything. */
static void hide(LLVMBuilderRef builder, LLVMValueRef inst)
{
	static const char hidden[] = "llvm.experimental.constrained.fmuladd";
	LLVMModuleRef module = LLVMGetGlobalParent(ir__callee(inst));
	LLVMContextRef ctx = LLVMGetModuleContext(module);
	unsigned int kind = LLVMGetEnumAttributeKindForName("nobuiltin", strlen("nobuiltin"));
	LLVMTypeRef type = LLVMTypeOf(inst);
	LLVMValueRef fn, call, args[5];
	unsigned int i;

	for (i = 0; i < 3; i++)
		args[i] = LLVMGetOperand(inst, i);
	args[3] = text_value(ctx, "round.tonearest");
	args[4] = text_value(ctx, "fpexcept.ignore");
	fn = LLVMGetIntrinsicDeclaration(module, LLVMLookupIntrinsicID(hidden, strlen(hidden)),
					 &type, 1);
	LLVMPositionBuilderBefore(builder, inst);
	call = LLVMBuildCall2(builder, LLVMGlobalGetValueType(fn), fn, args, 5, "");
	LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex,
				 LLVMCreateEnumAttribute(ctx, kind, 0));
	replace(inst, call);
}

void fp__hide_fmuladd(LLVMModuleRef module)
{
	LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));

	ir__for_each_function(fn, module) rewrite(fn, builder, is_fmuladd, hide);
	LLVMDisposeBuilder(builder);
}

/* Both roundings of @a * @b + @c, in double or float; false where they differ in a bit. */
static bool round_both(LLVMTypeKind kind, const double in[3], double *out)
{
	volatile double product = in[0] * in[1];
	volatile float product32 = (float)in[0] * (float)in[1];
	double twice, once;

	if (kind == LLVMDoubleTypeKind) {
		twice = product + in[2];
		once = fma(in[0], in[1], in[2]);
	} else {
		twice = product32 + (float)in[2];
		once = fmaf((float)in[0], (float)in[1], (float)in[2]);
	}
	*out = once;
	return !isnan(once) && memcmp(&once, &twice, sizeof(once)) == 0;
}

static bool is_settled(LLVMValueRef inst, double *result)
{
	LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(inst));
	double in[3];
	LLVMBool loses;

	if (!is_hidden(inst) || (kind != LLVMDoubleTypeKind && kind != LLVMFloatTypeKind))
		return false;
	for (unsigned int i = 0; i < 3; i++) {
		if (!LLVMIsAConstantFP(LLVMGetOperand(inst, i)))
			return false;
		in[i] = LLVMConstRealGetDouble(LLVMGetOperand(inst, i), &loses);
	}
	return round_both(kind, in, result);
}

bool fp__settle_hidden(LLVMModuleRef module)
{
	LLVMValueRef inst, next;
	bool any = false;
	double result;

	ir__for_each_function(fn, module)
	{
		ir__for_each_block(block, fn)
		{
			for (inst = LLVMGetFirstInstruction(block); inst; inst = next) {
				next = LLVMGetNextInstruction(inst);
				if (!is_settled(inst, &result))
					continue;
				replace(inst, LLVMConstReal(LLVMTypeOf(inst), result));
				any = true;
			}
		}
	}
	return any;
}

static bool has(LLVMModuleRef module, bool (*what)(LLVMValueRef))
{
	ir__for_each_function(fn, module)
	{
		ir__for_each_block(block, fn)
		{
			ir__for_each_inst(inst, block)
			{
				if (what(inst))
					return true;
			}
		}
	}
	return false;
}

static bool is_foldable_hidden(LLVMValueRef inst)
{
	return is_hidden(inst) && is_foldable(inst, 0);
}

bool fp__has_fmuladd(LLVMModuleRef module)
{
	return has(module, is_fmuladd);
}

bool fp__has_foldable(LLVMModuleRef module)
{
	return has(module, is_foldable_hidden);
}

void fp__split_unoptimized(LLVMModuleRef module)
{
	LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));

	ir__for_each_function(fn, module)
	{
		if (ir__has_attr(fn, "optnone"))
			rewrite(fn, builder, is_fmuladd, split);
	}
	LLVMDisposeBuilder(builder);
}

void fp__split_fmuladd(LLVMModuleRef module)
{
	LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));

	ir__for_each_function(fn, module) rewrite(fn, builder, is_fmuladd, split);
	LLVMDisposeBuilder(builder);
}

void fp__widen_conversions(LLVMModuleRef module)
{
	LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));

	ir__for_each_function(fn, module) rewrite(fn, builder, is_conversion, widen);
	LLVMDisposeBuilder(builder);
}
