// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdio.h>

#include <llvm-c/Comdat.h>

#include "../user/lib/util.h"
#include "bind.h"
#include "inspect.h"
#include "ir.h"

/* The value alone: no section, group or preemption of its own. */
static void strip_placement(LLVMValueRef value)
{
	LLVMSetComdat(value, NULL);
	LLVMSetSection(value, "");
	LLVMSetVisibility(value, LLVMDefaultVisibility);
	LLVMSetDLLStorageClass(value, LLVMDefaultStorageClass);
}

static void copy_attributes(LLVMValueRef to, LLVMValueRef from, LLVMAttributeIndex index)
{
	unsigned int i, n = LLVMGetAttributeCountAtIndex(from, index);
	LLVMAttributeRef *list = calloc(n + 1, sizeof(LLVMAttributeRef));

	if (!list)
		return;
	LLVMGetAttributesAtIndex(from, index, list);
	for (i = 0; i < n; i++)
		LLVMAddAttributeAtIndex(to, index, list[i]);
	free(list);
}

/* A declaration of the same kind of function, under @name, in the same module. */
static LLVMValueRef declare_like(struct binder *b, LLVMValueRef fn, const char *name)
{
	LLVMValueRef decl = LLVMAddFunction(b->module, name, LLVMGlobalGetValueType(fn));
	unsigned int i, n = LLVMCountParams(fn);

	LLVMSetFunctionCallConv(decl, LLVMGetFunctionCallConv(fn));
	copy_attributes(decl, fn, LLVMAttributeFunctionIndex);
	for (i = 0; i <= n; i++)
		copy_attributes(decl, fn, i);
	/* Attributes of bodies only. */
	ir__remove_attr(decl, "optnone");
	ir__remove_attr(decl, "alwaysinline");
	return decl;
}

/* Replace a definition by a declaration of its name, which keeps its linkage. */
static LLVMValueRef drop_body(struct binder *b, LLVMValueRef fn)
{
	bool local = resolve__is_local(fn);
	LLVMValueRef decl = declare_like(b, fn, "");
	__cleanup_free char *name = strdup(resolve__name(fn));

	LLVMReplaceAllUsesWith(fn, decl);
	LLVMDeleteFunction(fn);
	LLVMSetValueName2(decl, name ? name : "", name ? strlen(name) : 0);
	/* A local declaration is not valid, yet tells the next step whose name this is. */
	LLVMSetLinkage(decl, local ? LLVMInternalLinkage : LLVMExternalLinkage);
	return decl;
}

static const struct member *member_of(const struct binder *b, LLVMValueRef fn)
{
	const struct member *m = section__find(b->section, b->unit, resolve__name(fn),
					       resolve__is_local(fn));

	return m;
}

static bool is_defined_here(const struct binder *b, const struct member *m, LLVMValueRef fn)
{
	return m && m->unit == b->unit && !LLVMIsDeclaration(fn);
}

static void drop_bodies(struct binder *b)
{
	LLVMValueRef fn, next;

	for (fn = LLVMGetFirstFunction(b->module); fn; fn = next) {
		next = LLVMGetNextFunction(fn);
		if (!LLVMIsDeclaration(fn) && !is_defined_here(b, member_of(b, fn), fn))
			drop_body(b, fn);
	}
}

static void restore_calls(LLVMValueRef addr, LLVMValueRef fn)
{
	LLVMUseRef use, next;
	LLVMValueRef user;

	for (use = LLVMGetFirstUse(addr); use; use = next) {
		next = LLVMGetNextUse(use);
		user = LLVMGetUser(use);
		if (ir__callee(user) == addr)
			LLVMSetOperand(user, LLVMGetNumOperands(user) - 1, fn);
	}
}

static bool has_call_only(LLVMValueRef fn)
{
	LLVMUseRef use;
	LLVMValueRef user;
	int i, n;

	for (use = LLVMGetFirstUse(fn); use; use = LLVMGetNextUse(use)) {
		user = LLVMGetUser(use);
		if (ir__callee(user) != fn)
			return false;
		n = LLVMGetNumOperands(user) - 1;
		for (i = 0; i < n; i++)
			if (LLVMGetOperand(user, i) == fn)
				return false;
	}
	return true;
}

/*
 * Calls go to our own copy of a member, but its address stays the program's: pointers are compared
 * and kept, and what they point to may be switched.
 */
static int split_address(struct binder *b, LLVMValueRef fn, const struct member *m)
{
	char name[4096];
	LLVMValueRef addr;
	struct place place = resolve__value(b->p, b->unit, fn);

	if (has_call_only(fn))
		return 0;
	if (snprintf(name, sizeof(name), "%s" BIND_ADDRESS_SUFFIX, m->name) >= (int)sizeof(name))
		return halo_err__set(b->err, -ENOTSUP, "a symbol's name is too long");
	addr = declare_like(b, fn, name);
	LLVMReplaceAllUsesWith(fn, addr);
	restore_calls(addr, fn);
	if (m->local)
		LLVMSetLinkage(addr, LLVMInternalLinkage);
	/* One that only dead code or an unused constant refers to may have no place. */
	return bind__enter(b, addr, place);
}

int bind__split_address(struct bound *bound, const struct member *m, LLVMValueRef fn,
			struct halo_err *err)
{
	struct binder b = {.module = bound->module, .symbols = &bound->symbols, .err = err};
	struct place place = {.where = WHERE_PROGRAM};
	char name[4096], own[4096 + 32];
	LLVMValueRef addr;

	if (has_call_only(fn))
		return 0;
	if (!m->row)
		return halo_err__set(err, -ENOTSUP, "%s has no address in the program", m->name);
	place.addr = m->row->addr;
	if (snprintf(name, sizeof(name), "%s" BIND_ADDRESS_SUFFIX, m->name) >= (int)sizeof(name))
		return halo_err__set(err, -ENOTSUP, "a symbol's name is too long");
	if (m->local)
		snprintf(own, sizeof(own), "%s.u%u", name, m->unit);
	else
		snprintf(own, sizeof(own), "%s", name);
	addr = LLVMGetNamedFunction(bound->module, own);
	if (!addr) {
		addr = declare_like(&b, fn, own);
		LLVMSetVisibility(addr, LLVMHiddenVisibility);
		if (symbols__add(b.symbols, own, place))
			return halo_err__set(err, -ENOTSUP, "%s has two places in the program",
					     own);
	}
	LLVMReplaceAllUsesWith(fn, addr);
	restore_calls(addr, fn);
	return 0;
}

static int enter_member(struct binder *b, LLVMValueRef fn, const struct member *m)
{
	char name[4096];
	int ret;

	if (LLVMIsDeclaration(fn))
		LLVMSetLinkage(fn, LLVMExternalLinkage);
	ret = split_address(b, fn, m);
	if (ret)
		return ret;
	bind__member_name(m, name, sizeof(name));
	LLVMSetLinkage(fn, LLVMExternalLinkage);
	LLVMSetVisibility(fn, LLVMHiddenVisibility);
	LLVMSetValueName2(fn, name, strlen(name));
	return 0;
}

static int enter_function(struct binder *b, LLVMValueRef fn)
{
	const struct member *m;

	if (LLVMGetIntrinsicID(fn))
		return 0;
	strip_placement(fn);
	/* Calls through a GOT word, of which an image has none (-fno-plt, Rust). */
	ir__remove_attr(fn, "nonlazybind");
	m = member_of(b, fn);
	if (m)
		return enter_member(b, fn, m);
	if (resolve__is_never(b->p, b->unit, fn))
		return bind__enter(b, fn, (struct place){.where = WHERE_NEVER});
	return bind__enter(b, fn, resolve__value(b->p, b->unit, fn));
}

/*
 * Where units meet, one that was compiled without exceptions would tell the others that it lets none
 * pass, and they would drop what they do about those.
 */
static void allow_unwinding(struct binder *b)
{
	ir__for_each_function(fn, b->module)
	{
		if (!LLVMIsDeclaration(fn) && ir__has_attr(fn, "nounwind") &&
		    inspect__may_unwind(b->p, b->unit, fn))
			ir__remove_attr(fn, "nounwind");
	}
}

int bind__functions(struct binder *b)
{
	LLVMValueRef fn, last, next;
	int ret;

	if (!b->p->no_unwind)
		allow_unwinding(b);
	drop_bodies(b);
	/* Addresses are declared behind the last one, and need no second look. */
	last = LLVMGetLastFunction(b->module);
	for (fn = LLVMGetFirstFunction(b->module); fn; fn = next) {
		next = fn == last ? NULL : LLVMGetNextFunction(fn);
		ret = enter_function(b, fn);
		if (ret)
			return ret;
	}
	return 0;
}
