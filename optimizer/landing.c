// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../user/lib/util.h"
#include "ir.h"
#include "landing.h"

#define WORD_SUFFIX	   ".halo.word"
#define PERSONALITY_PREFIX "DW.ref." /* what LLVM calls a word with a personality's address */
#define NAME_LEN	   4096

struct binding {
	struct bound *bound;
	const struct words *words;
	const struct halo_prepared *p;
	struct halo_err *err;
};

static int enter(struct binding *b, const char *name, const char *of)
{
	const struct symbol *s = symbols__find(&b->bound->symbols, of);
	struct place place = {.where = WHERE_NOWHERE};

	place = words__place(b->words, b->p, of, s ? s->place : place);
	if (place.where == WHERE_NOWHERE)
		return halo_err__set(b->err, -ENOTSUP,
				     "no exception table of the program refers to %s", of);
	if (symbols__add(&b->bound->symbols, name, place))
		return halo_err__set(b->err, -ENOMEM, "can't enter %s", name);
	return 0;
}

/* NULL: b->err says why. */
static LLVMValueRef word_of(struct binding *b, LLVMValueRef type)
{
	LLVMModuleRef module = b->bound->module;
	LLVMValueRef word;
	char name[NAME_LEN];

	if (LLVMIsNull(type))
		return type; /* catches everything */
	if (!LLVMIsAGlobalVariable(type) ||
	    snprintf(name, sizeof(name), "%s" WORD_SUFFIX, resolve__name(type)) >= NAME_LEN) {
		halo_err__set(b->err, -ENOTSUP, "it catches something unusual");
		return NULL;
	}
	word = LLVMGetNamedGlobal(module, name);
	if (word)
		return word;
	if (enter(b, name, resolve__name(type)))
		return NULL;
	return LLVMAddGlobal(module, LLVMTypeOf(type), name);
}

/* The list of a filter clause, or one type. */
static LLVMValueRef word_of_clause(struct binding *b, LLVMValueRef clause)
{
	LLVMTypeRef type = LLVMTypeOf(clause);
	LLVMValueRef *list, out = NULL;
	unsigned int i, n;

	if (LLVMGetTypeKind(type) != LLVMArrayTypeKind)
		return word_of(b, clause);
	n = (unsigned int)LLVMGetArrayLength2(type);
	list = calloc(n + 1, sizeof(LLVMValueRef));
	for (i = 0; list && i < n; i++) {
		list[i] = word_of(b, LLVMGetAggregateElement(clause, i));
		if (!list[i])
			break;
	}
	if (list && i == n)
		out = LLVMConstArray2(LLVMGetElementType(type), list, n);
	else if (!b->err->code)
		halo_err__set(b->err, -ENOMEM, "out of memory");
	free(list);
	return out;
}

static int bind_inst(struct binding *b, LLVMValueRef inst)
{
	unsigned int i, n = 0;
	LLVMValueRef word;

	if (LLVMIsALandingPadInst(inst))
		n = LLVMGetNumClauses(inst);
	else if (ir__is_intrinsic(inst, "llvm.eh.typeid.for"))
		n = 1;
	for (i = 0; i < n; i++) {
		word = word_of_clause(b, LLVMGetOperand(inst, i));
		if (!word)
			return b->err->code;
		LLVMSetOperand(inst, i, word);
	}
	return 0;
}

static int bind_personality(struct binding *b, LLVMValueRef fn)
{
	const char *of = resolve__name(LLVMGetPersonalityFn(fn));
	char name[NAME_LEN];

	if (snprintf(name, sizeof(name), PERSONALITY_PREFIX "%s", of) >= NAME_LEN)
		return halo_err__set(b->err, -ENOTSUP, "a symbol's name is too long");
	return symbols__find(&b->bound->symbols, name) ? 0 : enter(b, name, of);
}

static int bind_function(struct binding *b, LLVMValueRef fn)
{
	int ret = bind_personality(b, fn);

	ir__for_each_block(block, fn)
	{
		ir__for_each_inst(inst, block)
		{
			if (!ret)
				ret = bind_inst(b, inst);
		}
	}
	return ret;
}

int landing__bind(struct bound *bound, const struct words *words, const struct halo_prepared *p,
		  struct halo_err *err)
{
	struct binding b = {.bound = bound, .words = words, .p = p, .err = err};
	int ret = 0;

	ir__for_each_function(fn, bound->module)
	{
		if (!ret && !LLVMIsDeclaration(fn) && LLVMHasPersonalityFn(fn))
			ret = bind_function(&b, fn);
	}
	return ret;
}
