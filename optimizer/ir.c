// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>

#include "ir.h"

#define DEPTH_MAX 32

static int visit_at(LLVMValueRef value, int (*visit)(LLVMValueRef, void *), void *ctx, int depth)
{
	int i, n, ret;

	if (!value || !LLVMIsConstant(value))
		return 0;
	if (LLVMIsAGlobalValue(value))
		return visit(value, ctx);
	if (LLVMIsABlockAddress(value))
		return visit(LLVMGetBlockAddressFunction(value), ctx);
	if (depth == DEPTH_MAX)
		return -ELOOP;
	n = LLVMGetNumOperands(value);
	for (i = 0; i < n; i++) {
		ret = visit_at(LLVMGetOperand(value, i), visit, ctx, depth + 1);
		if (ret)
			return ret;
	}
	return 0;
}

int ir__visit_globals(LLVMValueRef value, int (*visit)(LLVMValueRef, void *), void *ctx)
{
	return visit_at(value, visit, ctx, 0);
}

static int found(LLVMValueRef global, void *ctx)
{
	(void)global;
	(void)ctx;
	return 1;
}

bool ir__holds_address(LLVMValueRef constant)
{
	return ir__visit_globals(constant, found, NULL) != 0;
}

bool ir__is_kept_only(LLVMValueRef constant)
{
	LLVMUseRef use;
	size_t len;

	if (LLVMIsAGlobalVariable(constant))
		return strncmp(LLVMGetValueName2(constant, &len), "llvm.", 5) == 0;
	for (use = LLVMGetFirstUse(constant); use; use = LLVMGetNextUse(use))
		if (!LLVMIsAConstant(LLVMGetUser(use)) || !ir__is_kept_only(LLVMGetUser(use)))
			return false;
	return true;
}

LLVMValueRef ir__callee(LLVMValueRef inst)
{
	LLVMValueRef callee;

	if (!LLVMIsACallInst(inst) && !LLVMIsAInvokeInst(inst))
		return NULL;
	callee = LLVMGetCalledValue(inst);
	return callee && LLVMIsAFunction(callee) ? callee : NULL;
}

bool ir__has_attr(LLVMValueRef fn, const char *name)
{
	unsigned int kind = LLVMGetEnumAttributeKindForName(name, strlen(name));

	return kind && LLVMGetEnumAttributeAtIndex(fn, LLVMAttributeFunctionIndex, kind);
}

const char *ir__string_attr(LLVMValueRef fn, const char *name)
{
	LLVMAttributeRef attr;
	unsigned int len;

	attr = LLVMGetStringAttributeAtIndex(fn, LLVMAttributeFunctionIndex, name, strlen(name));
	return attr ? LLVMGetStringAttributeValue(attr, &len) : NULL;
}

void ir__set_string_attr(LLVMValueRef fn, const char *name, const char *value)
{
	LLVMContextRef ctx = LLVMGetModuleContext(LLVMGetGlobalParent(fn));

	LLVMAddAttributeAtIndex(
		fn, LLVMAttributeFunctionIndex,
		LLVMCreateStringAttribute(ctx, name, strlen(name), value, strlen(value)));
}

void ir__remove_attr(LLVMValueRef fn, const char *name)
{
	unsigned int kind = LLVMGetEnumAttributeKindForName(name, strlen(name));

	if (kind)
		LLVMRemoveEnumAttributeAtIndex(fn, LLVMAttributeFunctionIndex, kind);
}

bool ir__is_intrinsic(LLVMValueRef inst, const char *prefix)
{
	LLVMValueRef callee = ir__callee(inst);
	size_t len;

	return callee && LLVMGetIntrinsicID(callee) &&
	       strncmp(LLVMGetValueName2(callee, &len), prefix, strlen(prefix)) == 0;
}

bool ir__has_feature(const char *features, const char *name)
{
	size_t len = strlen(name);
	const char *at = features;
	bool has = false;

	while (at && *at) {
		if ((*at == '+' || *at == '-') && strncmp(at + 1, name, len) == 0 &&
		    (at[len + 1] == ',' || at[len + 1] == '\0'))
			has = *at == '+';
		at = strchr(at, ',');
		at += !!at;
	}
	return has;
}
