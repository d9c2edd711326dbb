// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/Linker.h>

#include "../user/lib/util.h"
#include "bind.h"
#include "ir.h"

#define NAME_MAX_LEN 4096

static void local_name(char *buf, size_t size, const char *name, uint32_t unit)
{
	snprintf(buf, size, "%s.u%u", name, unit);
}

void bind__member_name(const struct member *m, char *buf, size_t size)
{
	if (m->local)
		local_name(buf, size, m->name, m->unit);
	else
		snprintf(buf, size, "%s", m->name);
}

static int enter_error(struct binder *b, int ret, const char *name)
{
	if (ret == -EEXIST)
		return halo_err__set(b->err, -ENOTSUP, "%s has two places in the program", name);
	return ret ? halo_err__set(b->err, ret, "out of memory") : 0;
}

int bind__enter(struct binder *b, LLVMValueRef value, struct place place)
{
	__cleanup_free char *name = malloc(NAME_MAX_LEN);
	bool local = resolve__is_local(value);

	if (!name)
		return halo_err__set(b->err, -ENOMEM, "out of memory");
	if (strlen(resolve__name(value)) > NAME_MAX_LEN - 32)
		return halo_err__set(b->err, -ENOTSUP, "a symbol's name is too long");
	if (local)
		local_name(name, NAME_MAX_LEN, resolve__name(value), b->unit);
	else
		snprintf(name, NAME_MAX_LEN, "%s", resolve__name(value));
	LLVMSetLinkage(value, LLVMExternalLinkage);
	if (local)
		LLVMSetValueName2(value, name, strlen(name));
	/* Hidden ones are reached directly; those of other modules through a GOT word. */
	if (place.where == WHERE_PROGRAM || place.where == WHERE_TLS)
		LLVMSetVisibility(value, LLVMHiddenVisibility);
	return enter_error(b, symbols__add(b->symbols, name, place), name);
}

static int bind_unit(struct binder *b, struct units *units)
{
	b->module = units__take(units, b->unit);
	if (!b->module)
		return halo_err__set(b->err, -EBADMSG, "unit %s: %s", b->p->units[b->unit].name,
				     units->state[b->unit].why);
	LLVMSetModuleInlineAsm2(b->module, "", 0);
	bind__drop_special(b->module);
	return bind__functions(b) ?: bind__thread_locals(b) ?: bind__globals(b);
}

/* The first unit's module becomes the one that the others are linked into. */
static int add_unit(struct binder *b, LLVMModuleRef *into)
{
	LLVMModuleRef module = b->module;

	b->module = NULL;
	if (!*into) {
		*into = module;
		return 0;
	}
	if (LLVMLinkModules2(*into, module))
		return halo_err__set(b->err, -ENOTSUP, "the bitcode of %s does not fit the others'",
				     b->p->units[b->unit].name);
	return 0;
}

static bool uses_unit(const struct section *section, uint32_t unit)
{
	size_t i;

	for (i = 0; i < section->n_members; i++)
		if (section->members[i].unit == unit)
			return true;
	return false;
}

/* All but the roots become internal, so that LLVM may do as it likes with them. */
static int close_module(const struct section *section, LLVMModuleRef module, struct halo_err *err)
{
	char name[NAME_MAX_LEN], *message = NULL;
	LLVMValueRef fn;
	size_t i;

	for (i = 0; i < section->n_members; i++) {
		bind__member_name(&section->members[i], name, sizeof(name));
		fn = LLVMGetNamedFunction(module, name);
		if (!fn || LLVMIsDeclaration(fn))
			return halo_err__set(err, -ENOTSUP, "%s was lost in linking bitcode", name);
		if (i >= section->n_roots && !section->members[i].target)
			LLVMSetLinkage(fn, LLVMInternalLinkage);
	}
	if (LLVMVerifyModule(module, LLVMReturnStatusAction, &message))
		halo_err__set(err, -EBADMSG, "the section's bitcode is not valid: %.200s", message);
	LLVMDisposeMessage(message);
	return err->code;
}

int bind__section(struct units *units, const struct section *section, struct bound *out,
		  struct halo_err *err)
{
	struct binder b = {.p = units->p, .section = section, .symbols = &out->symbols, .err = err};
	int ret = 0;

	memset(out, 0, sizeof(*out));
	for (b.unit = 0; b.unit < units->p->n_units && !ret; b.unit++) {
		if (!uses_unit(section, b.unit))
			continue;
		ret = bind_unit(&b, units);
		if (!ret)
			ret = add_unit(&b, &out->module);
		if (b.module)
			LLVMDisposeModule(b.module);
		b.module = NULL;
	}
	return ret ? ret : close_module(section, out->module, err);
}

void bound__free(struct bound *bound)
{
	if (bound->module)
		LLVMDisposeModule(bound->module);
	symbols__free(&bound->symbols);
	memset(bound, 0, sizeof(*bound));
}
