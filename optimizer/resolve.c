// SPDX-License-Identifier: BSD-2-Clause
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "../user/lib/util.h"
#include "ir.h"
#include "resolve.h"

/* Of the compiler's library and start files: hidden, and so local after the link. */
static bool is_hidden(const char *name)
{
	static const char *const names[] = {"_Unwind_Resume", "__dso_handle", "__cpu_model",
					    "__cpu_features2", "__cpu_indicator_init"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

const char *resolve__name(LLVMValueRef value)
{
	size_t len;

	return LLVMGetValueName2(value, &len);
}

bool resolve__is_local(LLVMValueRef value)
{
	LLVMLinkage linkage = LLVMGetLinkage(value);

	return linkage == LLVMInternalLinkage || linkage == LLVMPrivateLinkage;
}

static struct place symbol_place(const struct halo_symbol *s)
{
	/* An ifunc's address is that of its resolver. */
	if (s->type == STT_GNU_IFUNC)
		return (struct place){.where = WHERE_NOWHERE};
	if (s->type == STT_TLS)
		return s->undefined ? (struct place){.where = WHERE_NOWHERE}
				    : (struct place){.where = WHERE_TLS, .addr = s->addr};
	/* An undefined one with an address has that as its address in all modules. */
	if (s->addr)
		return (struct place){.where = WHERE_PROGRAM, .addr = s->addr};
	if (s->undefined && s->got)
		return (struct place){
			.where = WHERE_IMPORT, .addr = s->got, .lazy = s->got_is_lazy};
	return (struct place){.where = WHERE_NOWHERE};
}

struct place resolve__external(const struct halo_prepared *p, const char *name)
{
	const struct halo_symbol *s = halo_prepared__symbol(p, name);
	struct place place = {.where = WHERE_NOWHERE};

	for (; s && s < p->symbols + p->n_symbols && strcmp(s->name, name) == 0; s++) {
		if (s->bind == STB_LOCAL && !is_hidden(name))
			continue;
		place = symbol_place(s);
		if (place.where != WHERE_NOWHERE)
			break;
	}
	return place;
}

const struct halo_func *resolve__func(const struct halo_prepared *p, uint32_t unit, LLVMValueRef fn)
{
	return halo_prepared__func(p, resolve__is_local(fn) ? (int)unit : -1, resolve__name(fn));
}

static struct place variable_place(const struct halo_prepared *p, uint32_t unit, LLVMValueRef var)
{
	const struct halo_var *row;

	row = halo_prepared__var(p, resolve__is_local(var) ? (int)unit : -1, resolve__name(var));
	if (!row)
		return (struct place){.where = WHERE_NOWHERE};
	if (row->flags & HALO_VAR_TLS)
		return (struct place){.where = WHERE_TLS, .addr = row->addr};
	return (struct place){.where = row->addr ? WHERE_PROGRAM : WHERE_NOWHERE,
			      .addr = row->addr};
}

/* NULL: nothing can take the place of what the module itself has under that name. */
static const struct halo_symbol *preemptible(const struct halo_prepared *p, LLVMValueRef value)
{
	const struct halo_symbol *s;

	if (!p->is_library || resolve__is_local(value))
		return NULL;
	s = halo_prepared__symbol(p, resolve__name(value));
	return s && s->preemptible ? s : NULL;
}

bool resolve__is_preempted(const struct halo_prepared *p, LLVMValueRef value)
{
	const struct halo_symbol *s = preemptible(p, value);

	return s && s->got;
}

struct place resolve__value(const struct halo_prepared *p, uint32_t unit, LLVMValueRef value)
{
	const struct halo_symbol *own = preemptible(p, value);
	struct place place = {.where = WHERE_NOWHERE};
	const struct halo_func *row;

	if (own && own->got && own->type != STT_TLS)
		return (struct place){
			.where = WHERE_IMPORT, .addr = own->got, .lazy = own->got_is_lazy};
	/* No code of the library uses the variable, so what it would use is not known. */
	if (own && own->type == STT_OBJECT)
		return place;
	if (LLVMIsAFunction(value)) {
		row = resolve__func(p, unit, value);
		if (row && row->addr)
			place = (struct place){.where = WHERE_PROGRAM, .addr = row->addr};
	} else if (LLVMIsAGlobalVariable(value)) {
		place = variable_place(p, unit, value);
	}
	if (place.where == WHERE_NOWHERE && !resolve__is_local(value))
		place = resolve__external(p, resolve__name(value));
	return place;
}

const struct halo_func *resolve__accessor(const struct halo_prepared *p, uint32_t unit,
					  LLVMValueRef var)
{
	const struct halo_func *row;
	char name[4096];
	uint32_t i;

	if (snprintf(name, sizeof(name), HALO_TLS_PREFIX "%s", resolve__name(var)) >=
	    (int)sizeof(name))
		return NULL;
	row = halo_prepared__func(p, (int)unit, name);
	for (i = 0; i < p->n_units && !row && !resolve__is_local(var); i++)
		row = halo_prepared__func(p, (int)i, name);
	return row;
}

/* As a function, or at each of its calls. */
static bool never_returns(LLVMValueRef fn)
{
	unsigned int kind = LLVMGetEnumAttributeKindForName("noreturn", strlen("noreturn"));
	LLVMUseRef use;

	if (ir__has_attr(fn, "noreturn"))
		return true;
	for (use = LLVMGetFirstUse(fn); use; use = LLVMGetNextUse(use))
		if (ir__callee(LLVMGetUser(use)) != fn ||
		    !LLVMGetCallSiteEnumAttribute(LLVMGetUser(use), LLVMAttributeFunctionIndex,
						  kind))
			return false;
	return LLVMGetFirstUse(fn);
}

bool resolve__is_never(const struct halo_prepared *p, uint32_t unit, LLVMValueRef fn)
{
	return never_returns(fn) && !resolve__is_local(fn) &&
	       !halo_prepared__symbol(p, resolve__name(fn)) &&
	       resolve__value(p, unit, fn).where == WHERE_NOWHERE;
}
