// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "inspect.h"
#include "ir.h"
#include "resolve.h"

struct refs {
	const struct halo_prepared *p;
	const struct words *words;
	uint32_t unit;
	bool for_address; /* of what is in the operand at hand, in the calling thread */
	char *buf;
	size_t size;
};

static int refuse(struct refs *refs, const char *name, const char *why)
{
	snprintf(refs->buf, refs->size, "%s %s", name[0] ? name : "something nameless", why);
	return 1;
}

/* One whose address is needed. */
static int check_import(struct refs *refs, LLVMValueRef value, struct place place)
{
	if (place.where != WHERE_IMPORT)
		return 0;
	if (place.lazy)
		return refuse(refs, resolve__name(value),
			      "has no address that the program has looked up");
	if (LLVMGetLinkage(value) == LLVMExternalWeakLinkage)
		return refuse(refs, resolve__name(value), "may be missing (a weak reference)");
	return 0;
}

static int check_variable(struct refs *refs, LLVMValueRef var)
{
	struct place place = resolve__value(refs->p, refs->unit, var);
	LLVMValueRef init = LLVMGetInitializer(var);
	const char *name = resolve__name(var);

	if (LLVMIsThreadLocal(var) || place.where == WHERE_TLS) {
		if (place.where == WHERE_TLS && !refs->p->is_library)
			return 0;
		if (!refs->for_address)
			return refuse(refs, name, "is a thread-local variable, unusually used");
		return resolve__accessor(refs->p, refs->unit, var)
			       ? 0
			       : refuse(refs, name, "is a thread-local variable out of reach");
	}
	if (place.where != WHERE_NOWHERE)
		return check_import(refs, var, place);
	if (!init || !LLVMIsGlobalConstant(var))
		return refuse(refs, name, "is a variable that the program does not have");
	/* A constant that the program has lost has no address there that it could be known by. */
	if (ir__holds_address(init))
		return refuse(refs, name, "is a table of pointers without a place of its own");
	return 0;
}

/* One whose address is taken, not one that is called. */
static int check_function(struct refs *refs, LLVMValueRef fn)
{
	const struct halo_func *row = resolve__func(refs->p, refs->unit, fn);
	struct place place = resolve__value(refs->p, refs->unit, fn);
	const char *name = resolve__name(fn);

	if (LLVMGetIntrinsicID(fn))
		return 0;
	if (place.where == WHERE_NOWHERE)
		return refuse(refs, name, "has its address taken, and the program has none for it");
	if (row && (row->flags & HALO_FUNC_ABI_CHANGED))
		return refuse(refs, name, "has its address taken, and its signature was changed");
	return check_import(refs, fn, place);
}

static int check_global(LLVMValueRef global, void *ctx)
{
	struct refs *refs = ctx;
	struct place place;

	if (LLVMIsAFunction(global))
		return check_function(refs, global);
	if (LLVMIsAGlobalVariable(global))
		return check_variable(refs, global);
	place = resolve__value(refs->p, refs->unit, global);
	if (place.where == WHERE_NOWHERE)
		return refuse(refs, resolve__name(global), "is an alias without an address");
	return check_import(refs, global, place);
}

/* One that an exception table names: a type that is caught, or a personality function. */
static int check_table(LLVMValueRef global, void *ctx)
{
	struct refs *refs = ctx;
	const char *name = resolve__name(global);
	struct place place = resolve__value(refs->p, refs->unit, global);

	place = words__place(refs->words, refs->p, name, place);
	return place.where == WHERE_NOWHERE
		       ? refuse(refs, name, "is in none of the program's exception tables")
		       : 0;
}

static int check_operands(struct refs *refs, LLVMValueRef inst)
{
	int i, n = LLVMGetNumOperands(inst), ret;
	bool in_table = LLVMIsALandingPadInst(inst) || ir__is_intrinsic(inst, "llvm.eh.typeid.for");

	refs->for_address = ir__is_intrinsic(inst, "llvm.threadlocal.address");
	/* The callee is a call's last operand. */
	if (ir__callee(inst))
		n--;
	for (i = 0; i < n; i++) {
		LLVMValueRef op = LLVMGetOperand(inst, i);

		if (!op || LLVMValueIsBasicBlock(op) || !LLVMIsConstant(op))
			continue;
		ret = ir__visit_globals(op, in_table ? check_table : check_global, refs);
		if (ret == -ELOOP)
			return refuse(refs, "a constant", "is nested too deeply");
		if (ret)
			return ret;
	}
	return 0;
}

const char *inspect__references(const struct units *units, uint32_t unit, LLVMValueRef fn,
				char *buf, size_t size)
{
	struct refs refs = {
		.p = units->p, .words = &units->words, .unit = unit, .buf = buf, .size = size};

	if (LLVMHasPersonalityFn(fn) && check_table(LLVMGetPersonalityFn(fn), &refs))
		return buf;
	ir__for_each_block(block, fn)
	{
		ir__for_each_inst(inst, block)
		{
			if (check_operands(&refs, inst))
				return buf;
		}
	}
	return NULL;
}
