// SPDX-License-Identifier: BSD-2-Clause
#include "aliases.h"
#include "resolve.h"

static bool is_place(enum where where)
{
	return where == WHERE_PROGRAM || where == WHERE_TLS;
}

static bool is_synonym(const struct halo_prepared *p, uint32_t unit, LLVMValueRef alias,
		       LLVMValueRef of)
{
	struct place own, target;

	if (!LLVMIsAFunction(of) && !LLVMIsAGlobalVariable(of))
		return false;
	if (resolve__is_local(alias))
		return true;
	own = resolve__value(p, unit, alias);
	target = resolve__value(p, unit, of);
	return is_place(own.where) && own.where == target.where && own.addr == target.addr;
}

void aliases__merge(const struct halo_prepared *p, uint32_t unit, LLVMModuleRef module)
{
	LLVMValueRef alias, of;

	for (alias = LLVMGetFirstGlobalAlias(module); alias;
	     alias = LLVMGetNextGlobalAlias(alias)) {
		of = LLVMAliasGetAliasee(alias);
		if (is_synonym(p, unit, alias, of))
			LLVMReplaceAllUsesWith(alias, of);
	}
}
