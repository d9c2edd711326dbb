// SPDX-License-Identifier: BSD-2-Clause
/*
 * Code that was compiled without exceptions is "nounwind" in its bitcode, but what its calls throw
 * passes through it all the same, since x86-64 has unwind tables for all code.
 * So where a program has C++ in it, the calls themselves have to be looked at.
 */
#include "inspect.h"
#include "ir.h"
#include "resolve.h"

#define VISITED_MAX 64

struct visit {
	const struct halo_prepared *p;
	uint32_t unit;
	LLVMValueRef visited[VISITED_MAX];
	unsigned int n;
};

static bool body_may_unwind(struct visit *v, LLVMValueRef fn);

static bool takes_function(LLVMValueRef call)
{
	unsigned int i, n = LLVMGetNumArgOperands(call);

	for (i = 0; i < n; i++)
		if (LLVMIsAFunction(LLVMGetOperand(call, i)))
			return true;
	return false;
}

static bool call_may_unwind(struct visit *v, LLVMValueRef call)
{
	LLVMValueRef callee = ir__callee(call);

	if (LLVMIsAInlineAsm(LLVMGetCalledValue(call)))
		return false;
	if (!callee)
		return true;
	if (LLVMGetIntrinsicID(callee))
		return false;
	if (!LLVMIsDeclaration(callee))
		return body_may_unwind(v, callee);
	/* A library throws what a callback throws; another unit of the program, what it likes. */
	return resolve__func(v->p, v->unit, callee) || takes_function(call);
}

static bool body_may_unwind(struct visit *v, LLVMValueRef fn)
{
	unsigned int i;

	for (i = 0; i < v->n; i++)
		if (v->visited[i] == fn)
			return false;
	if (v->n == VISITED_MAX)
		return true;
	v->visited[v->n++] = fn;
	ir__for_each_block(block, fn)
	{
		ir__for_each_inst(inst, block)
		{
			if (LLVMIsACallInst(inst) && call_may_unwind(v, inst))
				return true;
		}
	}
	return false;
}

bool inspect__may_unwind(const struct halo_prepared *p, uint32_t unit, LLVMValueRef fn)
{
	struct visit v = {.p = p, .unit = unit};

	if (!halo_prepared__symbol(p, "__gxx_personality_v0") &&
	    !halo_prepared__symbol(p, "__gcc_personality_v0") &&
	    !halo_prepared__symbol(p, "__cxa_throw"))
		return false;
	return body_may_unwind(&v, fn);
}
