// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>

#include <llvm-c/Comdat.h>

#include "../user/lib/util.h"
#include "bind.h"
#include "ir.h"
#include "literals.h"

void bind__drop_special(LLVMModuleRef module)
{
	LLVMValueRef var, next;

	for (var = LLVMGetFirstGlobal(module); var; var = next) {
		next = LLVMGetNextGlobal(var);
		if (strncmp(resolve__name(var), "llvm.", 5) == 0)
			LLVMDeleteGlobal(var);
	}
}

/* A declaration under the name of an alias or ifunc, which takes its uses. */
static LLVMValueRef declare_instead(struct binder *b, LLVMValueRef value)
{
	LLVMTypeRef type = LLVMGlobalGetValueType(value);
	LLVMValueRef decl;

	decl = LLVMGetTypeKind(type) == LLVMFunctionTypeKind ? LLVMAddFunction(b->module, "", type)
							     : LLVMAddGlobal(b->module, type, "");
	LLVMReplaceAllUsesWith(value, decl);
	return decl;
}

static int take_name(struct binder *b, LLVMValueRef decl, const char *name, struct place place)
{
	LLVMSetValueName2(decl, name, strlen(name));
	return bind__enter(b, decl, place);
}

/* LLVM's C interface can't delete aliases, so they become private ones of nothing. */
static LLVMValueRef add_nothing(LLVMModuleRef module)
{
	LLVMTypeRef type = LLVMInt8TypeInContext(LLVMGetModuleContext(module));
	LLVMValueRef nothing = LLVMAddGlobal(module, type, "");

	LLVMSetInitializer(nothing, LLVMConstNull(type));
	LLVMSetLinkage(nothing, LLVMPrivateLinkage);
	return nothing;
}

static void void_alias(LLVMValueRef alias, LLVMValueRef nothing)
{
	LLVMSetValueName2(alias, "", 0);
	LLVMSetLinkage(alias, LLVMPrivateLinkage);
	LLVMSetVisibility(alias, LLVMDefaultVisibility);
	LLVMAliasSetAliasee(alias, nothing);
}

static int drop_aliases(struct binder *b)
{
	LLVMValueRef alias = LLVMGetFirstGlobalAlias(b->module), decl, nothing;
	__cleanup_free char *name = NULL;
	struct place place;
	int ret;

	nothing = alias ? add_nothing(b->module) : NULL;
	for (; alias; alias = LLVMGetNextGlobalAlias(alias)) {
		if (!LLVMGetFirstUse(alias)) {
			void_alias(alias, nothing);
			continue;
		}
		place = resolve__value(b->p, b->unit, alias);
		free(name);
		name = strdup(resolve__name(alias));
		if (!name)
			return halo_err__set(b->err, -ENOMEM, "out of memory");
		decl = declare_instead(b, alias);
		void_alias(alias, nothing);
		ret = take_name(b, decl, name, place);
		if (ret)
			return ret;
	}
	return 0;
}

static int drop_ifuncs(struct binder *b)
{
	__cleanup_free char *name = NULL;
	LLVMValueRef ifunc, decl, next;
	struct place place;
	int ret;

	for (ifunc = LLVMGetFirstGlobalIFunc(b->module); ifunc; ifunc = next) {
		next = LLVMGetNextGlobalIFunc(ifunc);
		place = resolve__value(b->p, b->unit, ifunc);
		free(name);
		name = strdup(resolve__name(ifunc));
		if (!name)
			return halo_err__set(b->err, -ENOMEM, "out of memory");
		decl = declare_instead(b, ifunc);
		LLVMEraseGlobalIFunc(ifunc);
		ret = take_name(b, decl, name, place);
		if (ret)
			return ret;
	}
	return 0;
}

/* Constants that the program has no copy of, or not one that is found. */
static bool is_copied(LLVMValueRef var, struct place place)
{
	LLVMValueRef init = LLVMGetInitializer(var);

	if (!init || !LLVMIsGlobalConstant(var) || LLVMIsThreadLocal(var) ||
	    ir__holds_address(init))
		return false;
	return place.where == WHERE_NOWHERE;
}

struct reachable {
	struct binder *b;
	bool all;
};

static int check_reachable(LLVMValueRef global, void *ctx)
{
	struct reachable *r = ctx;
	struct place place = resolve__value(r->b->p, r->b->unit, global);

	const struct symbol *known = symbols__find(r->b->symbols, resolve__name(global));

	/*
	 * What was entered before may have another name by now. A copy has another address than what
	 * the program's table leads to.
	 */
	r->all = place.where != WHERE_NOWHERE || (known && known->place.where != WHERE_NOWHERE);
	return !r->all;
}

/* Loads from a constant may be folded to what it holds, if that can be bound. */
static bool may_fold(struct binder *b, LLVMValueRef var)
{
	LLVMValueRef init = LLVMGetInitializer(var);
	struct reachable r = {.b = b, .all = true};

	if (!init || !LLVMIsGlobalConstant(var) || LLVMIsExternallyInitialized(var))
		return false;
	switch (LLVMGetLinkage(var)) {
	case LLVMWeakAnyLinkage:
	case LLVMLinkOnceAnyLinkage:
	case LLVMCommonLinkage:
		return false;
	default:
		return ir__visit_globals(init, check_reachable, &r) == 0;
	}
}

static void strip_placement(LLVMValueRef var)
{
	LLVMSetComdat(var, NULL);
	LLVMSetSection(var, "");
	LLVMSetVisibility(var, LLVMDefaultVisibility);
}

static int bind_variable(struct binder *b, LLVMValueRef var)
{
	struct place place = resolve__value(b->p, b->unit, var);
	bool fold = may_fold(b, var);
	int ret;

	if (place.where == WHERE_NOWHERE && literals__is(var))
		place = literals__find(b->p, var);
	strip_placement(var);
	if (is_copied(var, place)) {
		LLVMSetLinkage(var, LLVMPrivateLinkage);
		return 0;
	}
	ret = bind__enter(b, var, place);
	if (LLVMIsThreadLocal(var)) {
		LLVMSetThreadLocalMode(var, LLVMLocalExecTLSModel);
		fold = false;
	}
	if (fold)
		LLVMSetLinkage(var, LLVMAvailableExternallyLinkage);
	else
		LLVMSetInitializer(var, NULL);
	return ret;
}

int bind__globals(struct binder *b)
{
	LLVMValueRef var, last, next;
	int ret;

	/* Declarations for aliases come behind the last one, and are entered at once. */
	last = LLVMGetLastGlobal(b->module);
	ret = drop_aliases(b);
	if (!ret)
		ret = drop_ifuncs(b);
	for (var = last ? LLVMGetFirstGlobal(b->module) : NULL; var && !ret; var = next) {
		next = var == last ? NULL : LLVMGetNextGlobal(var);
		if (!LLVMGetFirstUse(var) && LLVMGetInitializer(var))
			LLVMDeleteGlobal(var);
		else
			ret = bind_variable(b, var);
	}
	return ret;
}
