// SPDX-License-Identifier: BSD-2-Clause
#include "invokes.h"

#include <llvm-c/Transforms/PassBuilder.h>

#include "ir.h"
#include "resolve.h"

/* Whether any exception table of the program names it: one that catches or cleans up has to. */
static bool is_in_tables(const struct words *words, const struct halo_prepared *p, uint32_t unit,
			 LLVMValueRef personality)
{
	struct place place = resolve__value(p, unit, personality);

	place = words__place(words, p, resolve__name(personality), place);
	return place.where != WHERE_NOWHERE;
}

static bool has_landing(LLVMValueRef fn)
{
	ir__for_each_block(block, fn)
	{
		ir__for_each_inst(inst, block)
		{
			if (LLVMIsALandingPadInst(inst) || LLVMIsAInvokeInst(inst) ||
			    LLVMIsAResumeInst(inst))
				return true;
		}
	}
	return false;
}

/* Whether its functions have personalities, and the program none of them. */
static bool never_lands(const struct words *words, const struct halo_prepared *p, uint32_t unit,
			LLVMModuleRef module)
{
	LLVMValueRef last = NULL, personality;

	ir__for_each_function(fn, module)
	{
		if (LLVMIsDeclaration(fn) || !LLVMHasPersonalityFn(fn))
			continue;
		personality = LLVMGetPersonalityFn(fn);
		if (personality != last && is_in_tables(words, p, unit, personality))
			return false;
		last = personality;
	}
	return last;
}

void invokes__lower(const struct words *words, const struct halo_prepared *p, uint32_t unit,
		    LLVMModuleRef module)
{
	LLVMPassBuilderOptionsRef options;

	if (!never_lands(words, p, unit, module))
		return;
	options = LLVMCreatePassBuilderOptions();
	/* The second removes what nothing leads to any more. */
	LLVMConsumeError(
		LLVMRunPasses(module, "function(lower-invoke,simplifycfg)", NULL, options));
	LLVMDisposePassBuilderOptions(options);
	ir__for_each_function(fn, module)
	{
		if (!LLVMIsDeclaration(fn) && LLVMHasPersonalityFn(fn) && !has_landing(fn))
			LLVMSetPersonalityFn(fn, NULL);
	}
}
