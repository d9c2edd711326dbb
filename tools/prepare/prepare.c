// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include <halo/prepared.h>
#include <llvm-c/Target.h>

#include "probes.h"
#include "unit.h"

/* Tables and llvm.compiler.used speak of locals by name, and private names are rewritten later. */
static void name_locals(LLVMModuleRef ref)
{
	for (LLVMValueRef v = LLVMGetFirstGlobal(ref); v; v = LLVMGetNextGlobal(v)) {
		if (!halo_value__is_definition(v) || !halo_value__is_local(v) ||
		    halo_var__is_copyable(v))
			continue;
		if (!*halo_value__name(v))
			LLVMSetValueName2(v, "halo.anonymous", strlen("halo.anonymous"));
		LLVMSetLinkage(v, LLVMInternalLinkage);
	}
}

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value && strcmp(value, "0");
}

static void refuse(LLVMModuleRef ref, const char *why)
{
	size_t len;

	fprintf(stderr, "halo-cc: %s is not prepared: %s\n", LLVMGetSourceFileName(ref, &len), why);
}

void halo_prepare__start(LLVMModuleRef ref, enum halo_phase phase, bool o0)
{
	const char *refusal;
	uint64_t unit;

	if (phase == HALO_COMPILE) {
		refusal = halo_unit__refusal(ref);
		if (refusal) {
			if (is_set("HALO_VERBOSE"))
				refuse(ref, refusal);
			return;
		}
		name_locals(ref);
		if (!o0 && is_set("HALO_LOOPS"))
			halo_outline__run(ref);
		if (halo_unit__embed(ref, o0, &unit)) {
			refuse(ref, "out of memory");
			return;
		}
		halo_origin__note(ref, unit);
		if (is_set("HALO_PROBES"))
			halo_probes__insert(ref, unit);
	} else {
		halo_module__split_fmuladd(ref);
	}
	halo_module__pin(ref, phase);
}

void halo_prepare__unpin(LLVMModuleRef ref, enum halo_phase phase, bool o0)
{
	(void)phase;
	(void)o0;
	halo_module__unpin(ref);
}

/*
 * Give @value a section group of its own unless it is in one, so that its row lives and dies with
 * it. The source's own sections are left alone: linkers treat those of a group differently.
 */
static void put_in_group(const struct halo_module *m, LLVMValueRef value)
{
	const char *section = LLVMGetSection(value);
	LLVMComdatRef comdat;

	if (LLVMGetComdat(value) || (section && *section) ||
	    LLVMGetLinkage(value) == LLVMCommonLinkage)
		return;
	comdat = LLVMGetOrInsertComdat(m->ref, halo_value__name(value));
	LLVMSetComdatSelectionKind(comdat, LLVMNoDeduplicateComdatSelectionKind);
	LLVMSetComdat(value, comdat);
}

/* Parts and clones that passes make are their unit's; in a full link only clones tell which. */
static bool unit_of(const struct halo_module *m, LLVMValueRef func, uint64_t *unit)
{
	if (halo_origin__unit(func, unit))
		return m->phase == HALO_FULL_LINK || *unit == m->unit;
	*unit = m->unit;
	return m->phase != HALO_FULL_LINK;
}

static bool wants_row(const struct halo_module *m, LLVMValueRef func, uint64_t *unit)
{
	return halo_value__is_definition(func) && LLVMGetLinkage(func) != LLVMPrivateLinkage &&
	       halo_rows__can_name(halo_value__name(func)) && unit_of(m, func, unit);
}

static LLVMValueRef finish_func(const struct halo_module *m, struct halo_rows *rows,
				LLVMValueRef func, uint64_t unit)
{
	struct halo_origin found, *origin = halo_origin__of(func, &found) ? &found : NULL;
	struct halo_func_facts facts = {
		.unit = unit,
		.name = origin ? origin->name : halo_value__name(func),
		.reason = halo_func__reason(m, func, origin),
		.flags = halo_func__flags(m, func, origin),
	};

	put_in_group(m, func);
	facts.at = halo_func__local_name(m, func);
	if (facts.reason == HALO_REDIRECTABLE)
		facts.slot = halo_func__make_entry(m, func, facts.at);
	halo_rows__func(rows, func, &facts);
	return facts.slot;
}

static void finish_funcs(const struct halo_module *m, struct halo_rows *rows)
{
	LLVMValueRef *slots = calloc(halo_module__count(m->ref) + 1, sizeof(*slots));
	unsigned n = 0;
	uint64_t unit;

	if (!slots)
		abort();
	for (LLVMValueRef f = LLVMGetFirstFunction(m->ref); f; f = LLVMGetNextFunction(f)) {
		if (!wants_row(m, f, &unit))
			continue;
		slots[n] = finish_func(m, rows, f, unit);
		n += slots[n] != NULL;
	}
	halo_module__keep(m->ref, slots, n);
	free(slots);
}

/* A sanitizer that ran before the link added a redzone behind the variable. */
static bool has_layout(const struct halo_module *m, LLVMValueRef var,
		       const struct halo_origin *origin)
{
	uint64_t size = LLVMABISizeOfType(LLVMGetModuleDataLayout(m->ref),
					  LLVMGlobalGetValueType(var));

	return size == origin->value ||
	       (m->asan && m->phase != HALO_COMPILE && size > origin->value);
}

static bool wants_var_row(const struct halo_module *m, LLVMValueRef var, struct halo_origin *origin)
{
	return halo_value__is_definition(var) && halo_rows__can_name(halo_value__name(var)) &&
	       halo_origin__of(var, origin) && has_layout(m, var, origin) &&
	       (m->phase == HALO_FULL_LINK || origin->unit == m->unit);
}

static void finish_vars(const struct halo_module *m, struct halo_rows *rows, bool o0)
{
	LLVMValueRef *pins = calloc(halo_module__count(m->ref) + 1, sizeof(*pins));
	struct halo_origin origin;
	unsigned n = 0;

	if (!pins)
		abort();
	for (LLVMValueRef v = LLVMGetFirstGlobal(m->ref); v; v = LLVMGetNextGlobal(v)) {
		if (!wants_var_row(m, v, &origin))
			continue;
		if (!m->asan)
			put_in_group(m, v);
		halo_rows__var(rows, v, &origin);
		/* At -O0 it is pinned still. */
		if (!o0 && halo_value__is_local(v) && !(origin.flags & HALO_ORIGIN_KEPT))
			pins[n++] = v;
	}
	halo_module__keep(m->ref, pins, n);
	free(pins);
}

void halo_prepare__finish(LLVMModuleRef ref, enum halo_phase phase, bool o0)
{
	struct halo_rows rows = {0};
	struct halo_module m;
	char *text = NULL;
	size_t size;

	if (phase == HALO_COMPILE && halo_module__is_lto(ref))
		return;
	if (!halo_module__look(&m, ref, phase))
		return;
	halo_probes__finish(ref);
	rows.f = open_memstream(&text, &size);
	if (!rows.f)
		abort();
	finish_vars(&m, &rows, o0);
	/* Behind a full link no unit is told of a function that a pass made. */
	if (phase != HALO_FULL_LINK)
		halo_module__add_accessors(&m, put_in_group);
	finish_funcs(&m, &rows);
	fputs("\t.text\n", rows.f);
	if (fclose(rows.f))
		abort();
	LLVMAppendModuleInlineAsm(ref, text, size);
	free(text);
}
