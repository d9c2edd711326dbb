// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>

#include "unit.h"

bool halo_value__has_attr(LLVMValueRef func, const char *attr)
{
	unsigned kind = LLVMGetEnumAttributeKindForName(attr, strlen(attr));

	return kind && LLVMGetEnumAttributeAtIndex(func, LLVMAttributeFunctionIndex, kind);
}

bool halo_value__has_string_attr(LLVMValueRef func, const char *attr)
{
	return LLVMGetStringAttributeAtIndex(func, LLVMAttributeFunctionIndex, attr, strlen(attr));
}

const char *halo_value__name(LLVMValueRef value)
{
	size_t len;

	return LLVMGetValueName2(value, &len);
}

bool halo_value__is_local(LLVMValueRef value)
{
	LLVMLinkage linkage = LLVMGetLinkage(value);

	return linkage == LLVMInternalLinkage || linkage == LLVMPrivateLinkage;
}

/* rustc says of variables, too, that their addresses do not matter. */
bool halo_var__is_copyable(LLVMValueRef var)
{
	return halo_value__is_local(var) && LLVMIsGlobalConstant(var) &&
	       LLVMGetUnnamedAddress(var) == LLVMGlobalUnnamedAddr;
}

bool halo_value__is_definition(LLVMValueRef value)
{
	return !LLVMIsDeclaration(value) && LLVMGetLinkage(value) != LLVMAvailableExternallyLinkage;
}

bool halo_func__is_called(LLVMValueRef func)
{
	LLVMValueRef user;

	for (LLVMUseRef use = LLVMGetFirstUse(func); use; use = LLVMGetNextUse(use)) {
		user = LLVMGetUser(use);
		if ((LLVMIsACallInst(user) || LLVMIsAInvokeInst(user)) &&
		    LLVMGetCalledValue(user) == func)
			return true;
	}
	return false;
}

uint64_t halo_module__flag(LLVMModuleRef ref, const char *name)
{
	LLVMMetadataRef md = LLVMGetModuleFlag(ref, name, strlen(name));
	LLVMValueRef wrapped, value = NULL;

	if (!md)
		return 0;
	wrapped = LLVMMetadataAsValue(LLVMGetModuleContext(ref), md);
	if (LLVMGetMDNodeNumOperands(wrapped) != 1)
		return 0;
	LLVMGetMDNodeOperands(wrapped, &value);
	return value && LLVMIsAConstantInt(value) ? LLVMConstIntGetZExtValue(value) : 0;
}

size_t halo_module__count(LLVMModuleRef ref)
{
	size_t n = 0;

	for (LLVMValueRef v = LLVMGetFirstGlobal(ref); v; v = LLVMGetNextGlobal(v))
		n++;
	for (LLVMValueRef f = LLVMGetFirstFunction(ref); f; f = LLVMGetNextFunction(f))
		n++;
	return n;
}
