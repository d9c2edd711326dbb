// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "../tools/prepare/probes.h"
#include "../user/lib/util.h"
#include "aliases.h"
#include "initializers.h"
#include "invokes.h"
#include "labels.h"
#include "resolve.h"
#include "units.h"

/* The only layout that variants are made for; 19 is its writer. */
#define DATA_LAYOUT \
	"e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"

/* LLVM ends the process on an error unless somebody takes it, and goes on without what was wrong. */
static void count_errors(LLVMDiagnosticInfoRef info, void *ctx)
{
	struct units *units = ctx;

	units->errors += LLVMGetDiagInfoSeverity(info) == LLVMDSError;
}

int units__init(struct units *units, const struct halo_prepared *p, struct halo_err *err)
{
	memset(units, 0, sizeof(*units));
	units->p = p;
	units->state = calloc(p->n_units + 1, sizeof(*units->state));
	if (!units->state)
		return halo_err__set(err, -ENOMEM, "out of memory");
	units->ctx = LLVMContextCreate();
	LLVMContextSetDiagnosticHandler(units->ctx, count_errors, units);
	return words__read(p, &units->words, err);
}

void units__free(struct units *units)
{
	size_t i;

	for (i = 0; units->state && i < units->p->n_units; i++)
		if (units->state[i].module)
			LLVMDisposeModule(units->state[i].module);
	free(units->state);
	words__free(&units->words);
	if (units->ctx)
		LLVMContextDispose(units->ctx);
}

static bool has_throwing_function(LLVMModuleRef module)
{
	unsigned int kind = LLVMGetEnumAttributeKindForName("nounwind", strlen("nounwind"));
	LLVMValueRef fn;

	for (fn = LLVMGetFirstFunction(module); fn; fn = LLVMGetNextFunction(fn))
		if (!LLVMIsDeclaration(fn) &&
		    !LLVMGetEnumAttributeAtIndex(fn, LLVMAttributeFunctionIndex, kind))
			return true;
	return false;
}

/* C++ says nothing of functions that happen never to throw. */
static void infer_nounwind(LLVMModuleRef module)
{
	LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();

	LLVMConsumeError(LLVMRunPasses(module, "cgscc(function-attrs)", NULL, options));
	LLVMDisposePassBuilderOptions(options);
}

static const char *unusable(const struct halo_unit *unit, LLVMModuleRef module)
{
	if (unit->ambiguous)
		return "two units of the program are the same, so their local names can't be told "
		       "apart";
	if (unit->llvm > HALO_LLVM_MAJOR)
		return "its bitcode was written by a newer LLVM";
	if (!module)
		return NULL;
	if (strncmp(LLVMGetTarget(module), "x86_64-", 7) != 0)
		return "its bitcode is for another target";
	if (strcmp(LLVMGetDataLayoutStr(module), DATA_LAYOUT) != 0)
		return "its bitcode has another data layout";
	return NULL;
}

static LLVMModuleRef parse(struct units *units, const struct halo_unit *unit, struct halo_err *err)
{
	__cleanup_free uint8_t *bitcode = NULL;
	LLVMModuleRef module = NULL;
	LLVMMemoryBufferRef buf;
	LLVMBool failed;

	if (halo_unit__bitcode(unit, &bitcode, err))
		return NULL;
	buf = LLVMCreateMemoryBufferWithMemoryRange((const char *)bitcode, unit->raw_size,
						    unit->name, 0);
	failed = LLVMParseBitcodeInContext2(units->ctx, buf, &module);
	LLVMDisposeMemoryBuffer(buf);
	if (failed) {
		halo_err__set(err, -EBADMSG, "its bitcode can't be parsed");
		return NULL;
	}
	/* Passes trust what they are given, and files are anyone's. */
	if (!LLVMVerifyModule(module, LLVMReturnStatusAction, NULL))
		return module;
	halo_err__set(err, -EBADMSG, "its bitcode is not valid");
	LLVMDisposeModule(module);
	return NULL;
}

static void give_up(struct unit_state *state, const char *why)
{
	state->unusable = true;
	snprintf(state->why, sizeof(state->why), "%s", why);
	if (state->module)
		LLVMDisposeModule(state->module);
	state->module = NULL;
}

LLVMModuleRef units__module(struct units *units, uint32_t unit)
{
	const struct halo_unit *u = &units->p->units[unit];
	struct unit_state *state = &units->state[unit];
	struct halo_err err = {0};
	const char *why;

	if (state->module || state->unusable)
		return state->module;
	why = unusable(u, NULL);
	if (!why) {
		state->module = parse(units, u, &err);
		why = state->module ? unusable(u, state->module) : err.what;
	}
	if (why) {
		give_up(state, why);
		return NULL;
	}
	LLVMStripModuleDebugInfo(state->module);
	if (units->branches)
		halo_probes__insert(state->module, u->id);
	invokes__lower(&units->words, units->p, unit, state->module);
	aliases__merge(units->p, unit, state->module);
	labels__lower(state->module);
	initializers__expand(state->module);
	if (has_throwing_function(state->module))
		infer_nounwind(state->module);
	return state->module;
}

LLVMModuleRef units__take(struct units *units, uint32_t unit)
{
	LLVMModuleRef module = units__module(units, unit);

	units->state[unit].module = NULL;
	return module;
}

/* Names lie in bitcode as they are, so most units need no parsing. */
static bool may_define(struct units *units, uint32_t unit, const char *name)
{
	const struct halo_unit *u = &units->p->units[unit];
	__cleanup_free uint8_t *bitcode = NULL;

	if (units->state[unit].module)
		return true;
	if (units->state[unit].unusable || halo_unit__bitcode(u, &bitcode, NULL))
		return false;
	return memmem(bitcode, u->raw_size, name, strlen(name));
}

LLVMValueRef units__find(struct units *units, const char *name, uint32_t *unit)
{
	LLVMModuleRef module;
	LLVMValueRef fn;
	uint32_t i;

	for (i = 0; i < units->p->n_units; i++) {
		module = may_define(units, i, name) ? units__module(units, i) : NULL;
		fn = module ? LLVMGetNamedFunction(module, name) : NULL;
		if (!fn || LLVMIsDeclaration(fn) || resolve__is_local(fn))
			continue;
		*unit = i;
		return fn;
	}
	return NULL;
}
