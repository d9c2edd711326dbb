// SPDX-License-Identifier: BSD-2-Clause
/*
 * A variant can't tell where a thread-local variable of a library is: that takes relocations, which
 * only the dynamic linker fills in. So the unit gets a function that returns its address, which the
 * compiler makes as it makes any other use of the variable, whatever the model.
 */
#include <stdlib.h>
#include <string.h>

#include <halo/prepared.h>

#include "unit.h"

#define ADDRESS_OF "llvm.threadlocal.address"

/* In an executable the distance from the thread pointer is known. */
static bool is_of_library(LLVMModuleRef ref)
{
	return halo_module__flag(ref, "PIC Level") && !halo_module__flag(ref, "PIE Level");
}

static LLVMValueRef user_function(LLVMValueRef var)
{
	for (LLVMUseRef use = LLVMGetFirstUse(var); use; use = LLVMGetNextUse(use)) {
		LLVMValueRef user = LLVMGetUser(use);

		if (LLVMIsAInstruction(user))
			return LLVMGetBasicBlockParent(LLVMGetInstructionParent(user));
	}
	return NULL;
}

static void add_attr(LLVMContextRef ctx, LLVMValueRef func, const char *name)
{
	unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));

	LLVMAddAttributeAtIndex(
		func, LLVMAttributeFunctionIndex,
		LLVMCreateEnumAttribute(ctx, kind, !strcmp(name, "uwtable") ? 2 : 0));
}

/* @owner: what the accessor lives and dies with. */
static LLVMValueRef make_accessor(const struct halo_module *m, LLVMValueRef var, LLVMValueRef owner)
{
	LLVMTypeRef ptr = LLVMPointerTypeInContext(m->ctx, 0);
	unsigned id = LLVMLookupIntrinsicID(ADDRESS_OF, strlen(ADDRESS_OF));
	LLVMValueRef address = LLVMGetIntrinsicDeclaration(m->ref, id, &ptr, 1), func, result;
	LLVMBuilderRef builder = LLVMCreateBuilderInContext(m->ctx);
	char name[512];

	snprintf(name, sizeof(name), HALO_TLS_PREFIX "%s", halo_value__name(var));
	func = LLVMAddFunction(m->ref, name, LLVMFunctionType(ptr, NULL, 0, false));
	LLVMSetLinkage(func, LLVMInternalLinkage);
	LLVMSetComdat(func, LLVMGetComdat(owner));
	add_attr(m->ctx, func, "noinline");
	add_attr(m->ctx, func, "nounwind");
	add_attr(m->ctx, func, "uwtable");
	LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(m->ctx, func, ""));
	result = LLVMBuildCall2(builder, LLVMGlobalGetValueType(address), address, &var, 1, "");
	LLVMBuildRet(builder, result);
	LLVMDisposeBuilder(builder);
	return func;
}

static LLVMValueRef owner_of(LLVMValueRef var)
{
	if (halo_value__is_definition(var))
		return is_of_library(LLVMGetGlobalParent(var)) ? var : NULL;
	return user_function(var);
}

void halo_module__add_accessors(const struct halo_module *m,
				void (*group)(const struct halo_module *m, LLVMValueRef value))
{
	LLVMValueRef *list, owner;
	unsigned n = 0, max = 0;

	for (LLVMValueRef v = LLVMGetFirstGlobal(m->ref); v; v = LLVMGetNextGlobal(v))
		max += LLVMIsThreadLocal(v) != 0;
	list = calloc(max + 1, sizeof(*list));
	if (!list)
		abort();
	for (LLVMValueRef v = LLVMGetFirstGlobal(m->ref); v; v = LLVMGetNextGlobal(v)) {
		if (!LLVMIsThreadLocal(v) || !halo_rows__can_name(halo_value__name(v)))
			continue;
		owner = owner_of(v);
		if (!owner)
			continue;
		group(m, owner);
		list[n++] = make_accessor(m, v, owner);
	}
	halo_module__keep(m->ref, list, n);
	free(list);
}

bool halo_func__is_accessor(LLVMValueRef func)
{
	return !strncmp(halo_value__name(func), HALO_TLS_PREFIX, strlen(HALO_TLS_PREFIX));
}
