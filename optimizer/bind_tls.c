// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdio.h>

#include "bind.h"
#include "ir.h"

/* The address is the same for as long as a thread runs the function. */
static LLVMValueRef declare(struct binder *b, const char *name)
{
	static const char *const attrs[] = {"nounwind", "willreturn", "speculatable", "memory"};
	LLVMContextRef ctx = LLVMGetModuleContext(b->module);
	LLVMTypeRef ptr = LLVMPointerTypeInContext(ctx, 0);
	LLVMValueRef fn = LLVMAddFunction(b->module, name, LLVMFunctionType(ptr, NULL, 0, 0));
	size_t i;

	for (i = 0; i < sizeof(attrs) / sizeof(attrs[0]); i++)
		LLVMAddAttributeAtIndex(
			fn, LLVMAttributeFunctionIndex,
			LLVMCreateEnumAttribute(
				ctx, LLVMGetEnumAttributeKindForName(attrs[i], strlen(attrs[i])),
				0 /* "memory": none */));
	LLVMSetLinkage(fn, LLVMInternalLinkage);
	return fn;
}

static void call_instead(struct binder *b, LLVMValueRef var, LLVMValueRef accessor)
{
	LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(b->module));
	LLVMUseRef use, next;
	LLVMValueRef user;

	for (use = LLVMGetFirstUse(var); use; use = next) {
		next = LLVMGetNextUse(use);
		user = LLVMGetUser(use);
		if (!LLVMIsAInstruction(user) ||
		    !ir__is_intrinsic(user, "llvm.threadlocal.address"))
			continue;
		LLVMPositionBuilderBefore(builder, user);
		LLVMReplaceAllUsesWith(user,
				       LLVMBuildCall2(builder, LLVMGlobalGetValueType(accessor),
						      accessor, NULL, 0, ""));
		LLVMInstructionEraseFromParent(user);
	}
	LLVMDisposeBuilder(builder);
}

static int bind(struct binder *b, LLVMValueRef var)
{
	const struct halo_func *row = resolve__accessor(b->p, b->unit, var);
	struct place place = {.where = WHERE_PROGRAM, .addr = row ? row->addr : 0};
	LLVMValueRef accessor;
	char name[4096];

	/* Only code that is not in the section refers to it then. */
	if (!row || snprintf(name, sizeof(name), HALO_TLS_PREFIX "%s", resolve__name(var)) >=
			    (int)sizeof(name))
		return 0;
	accessor = declare(b, name);
	call_instead(b, var, accessor);
	return bind__enter(b, accessor, place);
}

int bind__thread_locals(struct binder *b)
{
	LLVMValueRef var;
	int ret = 0;

	for (var = LLVMGetFirstGlobal(b->module); var && !ret; var = LLVMGetNextGlobal(var)) {
		if (!LLVMIsThreadLocal(var) || !LLVMGetFirstUse(var))
			continue;
		if (b->p->is_library || resolve__value(b->p, b->unit, var).where != WHERE_TLS)
			ret = bind(b, var);
	}
	return ret;
}
