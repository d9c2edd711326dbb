// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdio.h>

#include "imports.h"
#include "ir.h"

#define DEPTH_MAX 32

struct rewriter {
	struct bound *bound;
	LLVMBuilderRef builder;
	struct halo_err *err;
	int ret;
};

static const struct symbol *import_of(const struct rewriter *r, LLVMValueRef value)
{
	const struct symbol *s;

	if (!LLVMIsAFunction(value) && !LLVMIsAGlobalVariable(value))
		return NULL;
	s = symbols__find(&r->bound->symbols, resolve__name(value));
	return s && s->place.where == WHERE_IMPORT ? s : NULL;
}

static int is_import(LLVMValueRef global, void *ctx)
{
	return import_of(ctx, global) != NULL;
}

static LLVMValueRef fail(struct rewriter *r, int code, const char *what, const char *name)
{
	if (!r->ret)
		r->ret = halo_err__set(r->err, code, "%s%s", what, name);
	return NULL;
}

static LLVMValueRef got_word(struct rewriter *r, const struct symbol *s)
{
	LLVMModuleRef module = r->bound->module;
	LLVMTypeRef ptr = LLVMPointerTypeInContext(LLVMGetModuleContext(module), 0);
	LLVMValueRef word;
	char name[4096];
	int ret;

	if (s->place.lazy)
		return fail(r, -ENOTSUP, "the program never looked up the address of ", s->name);
	if (snprintf(name, sizeof(name), "%s" IMPORTS_GOT_SUFFIX, s->name) >= (int)sizeof(name))
		return fail(r, -ENOTSUP, "too long a name: ", s->name);
	word = LLVMGetNamedGlobal(module, name);
	if (word)
		return word;
	ret = symbols__add(&r->bound->symbols, name,
			   (struct place){.where = WHERE_PROGRAM, .addr = s->place.addr});
	if (ret)
		return fail(r, ret, "can't enter ", name);
	word = LLVMAddGlobal(module, ptr, name);
	LLVMSetVisibility(word, LLVMHiddenVisibility);
	return word;
}

static LLVMValueRef expand(struct rewriter *r, LLVMValueRef value, int depth);

static LLVMValueRef expand_gep(struct rewriter *r, LLVMValueRef value, int depth)
{
	LLVMValueRef base = expand(r, LLVMGetOperand(value, 0), depth + 1), index[DEPTH_MAX];
	int i, n = LLVMGetNumOperands(value) - 1;

	if (!base)
		return NULL;
	if (n > DEPTH_MAX)
		return fail(r, -ENOTSUP, "too deep an address of an import", "");
	for (i = 0; i < n; i++)
		index[i] = LLVMGetOperand(value, i + 1);
	return LLVMBuildGEP2(r->builder, LLVMGetGEPSourceElementType(value), base, index, n, "");
}

static LLVMValueRef expand_binary(struct rewriter *r, LLVMValueRef value, int depth)
{
	LLVMValueRef left = expand(r, LLVMGetOperand(value, 0), depth + 1);
	LLVMValueRef right = expand(r, LLVMGetOperand(value, 1), depth + 1);

	if (!left || !right)
		return NULL;
	return LLVMBuildBinOp(r->builder, LLVMGetConstOpcode(value), left, right, "");
}

static LLVMValueRef expand_expression(struct rewriter *r, LLVMValueRef value, int depth)
{
	LLVMValueRef inner;

	switch (LLVMGetConstOpcode(value)) {
	case LLVMGetElementPtr:
		return expand_gep(r, value, depth);
	case LLVMAdd:
	case LLVMSub:
	case LLVMXor:
		return expand_binary(r, value, depth);
	case LLVMPtrToInt:
	case LLVMIntToPtr:
	case LLVMTrunc:
	case LLVMBitCast:
		inner = expand(r, LLVMGetOperand(value, 0), depth + 1);
		return inner ? LLVMBuildCast(r->builder, LLVMGetConstOpcode(value), inner,
					     LLVMTypeOf(value), "")
			     : NULL;
	default:
		return fail(r, -ENOTSUP, "an unusual expression of an import's address", "");
	}
}

static LLVMValueRef expand_aggregate(struct rewriter *r, LLVMValueRef value, int depth)
{
	bool vector = LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind;
	LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetModuleContext(r->bound->module));
	LLVMValueRef out = LLVMGetPoison(LLVMTypeOf(value)), element;
	int i, n = LLVMGetNumOperands(value);

	for (i = 0; i < n; i++) {
		element = expand(r, LLVMGetOperand(value, i), depth + 1);
		if (!element)
			return NULL;
		out = vector ? LLVMBuildInsertElement(r->builder, out, element,
						      LLVMConstInt(i32, i, 0), "")
			     : LLVMBuildInsertValue(r->builder, out, element, i, "");
	}
	return out;
}

/* The value of a constant with imports in it, computed where the builder stands. */
static LLVMValueRef expand(struct rewriter *r, LLVMValueRef value, int depth)
{
	const struct symbol *s = import_of(r, value);
	LLVMValueRef word;

	if (depth == DEPTH_MAX)
		return fail(r, -ENOTSUP, "too deep an address of an import", "");
	if (s) {
		word = got_word(r, s);
		return word ? LLVMBuildLoad2(r->builder, LLVMTypeOf(word), word, "") : NULL;
	}
	if (!ir__visit_globals(value, is_import, r))
		return value;
	if (LLVMIsAConstantExpr(value))
		return expand_expression(r, value, depth);
	if (LLVMIsAConstantStruct(value) || LLVMIsAConstantArray(value) ||
	    LLVMIsAConstantVector(value))
		return expand_aggregate(r, value, depth);
	return fail(r, -ENOTSUP, "an unusual constant with an import's address", "");
}

static LLVMValueRef expand_before(struct rewriter *r, LLVMValueRef inst, LLVMValueRef value)
{
	LLVMPositionBuilderBefore(r->builder, inst);
	return expand(r, value, 0);
}

/* All entries of a phi for one block must be the same value. */
static void rewrite_phi(struct rewriter *r, LLVMValueRef phi)
{
	unsigned int i, j, n = LLVMCountIncoming(phi);
	LLVMValueRef value, by;
	LLVMBasicBlockRef from;

	for (i = 0; i < n && !r->ret; i++) {
		value = LLVMGetIncomingValue(phi, i);
		if (!LLVMIsConstant(value) || !ir__visit_globals(value, is_import, r))
			continue;
		from = LLVMGetIncomingBlock(phi, i);
		by = expand_before(r, LLVMGetBasicBlockTerminator(from), value);
		for (j = i; by && j < n; j++)
			if (LLVMGetIncomingBlock(phi, j) == from)
				LLVMSetOperand(phi, j, by);
	}
}

static void rewrite_inst(struct rewriter *r, LLVMValueRef inst)
{
	int i, n = LLVMGetNumOperands(inst);
	LLVMValueRef op, by;

	if (LLVMIsAPHINode(inst)) {
		rewrite_phi(r, inst);
		return;
	}
	if (ir__callee(inst))
		n--;
	for (i = 0; i < n && !r->ret; i++) {
		op = LLVMGetOperand(inst, i);
		if (!op || LLVMValueIsBasicBlock(op) || !LLVMIsConstant(op) ||
		    !ir__visit_globals(op, is_import, r))
			continue;
		by = expand_before(r, inst, op);
		if (by)
			LLVMSetOperand(inst, i, by);
	}
}

int imports__read_got(struct bound *bound, struct halo_err *err)
{
	LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(bound->module));
	struct rewriter r = {.bound = bound, .builder = builder, .err = err};

	ir__for_each_function(fn, bound->module)
	{
		ir__for_each_block(block, fn)
		{
			ir__for_each_inst(inst, block)
			{
				if (!r.ret)
					rewrite_inst(&r, inst);
			}
		}
	}
	LLVMDisposeBuilder(builder);
	return r.ret;
}
