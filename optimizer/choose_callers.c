// SPDX-License-Identifier: BSD-2-Clause
#include "choose.h"
#include "ir.h"
#include "resolve.h"

struct search {
	const struct profile *profile;
	const struct halo_func *fn, *best;
	const bool *visited;
	uint64_t best_weight;
};

/* What was seen on stacks counts first, then the callers' own samples. */
static uint64_t weight(const struct search *s, const struct halo_func *caller)
{
	const struct profile *profile = s->profile;

	return (profile__calls(profile, caller, s->fn) << 20) +
	       profile->count[caller - profile->p->funcs] + 1;
}

static void offer(struct search *s, const struct halo_func *caller)
{
	uint64_t w;

	if (!caller || caller == s->fn || s->visited[caller - s->profile->p->funcs])
		return;
	w = weight(s, caller);
	if (w <= s->best_weight)
		return;
	s->best_weight = w;
	s->best = caller;
}

static void search_unit(struct search *s, LLVMModuleRef module, uint32_t unit)
{
	LLVMValueRef fn = LLVMGetNamedFunction(module, s->fn->name), user, caller;
	LLVMUseRef use;

	if (!fn || resolve__is_local(fn) != !!(s->fn->flags & HALO_FUNC_LOCAL))
		return;
	for (use = LLVMGetFirstUse(fn); use; use = LLVMGetNextUse(use)) {
		user = LLVMGetUser(use);
		if (ir__callee(user) != fn)
			continue;
		caller = LLVMGetBasicBlockParent(LLVMGetInstructionParent(user));
		offer(s, resolve__func(s->profile->p, unit, caller));
	}
}

const struct halo_func *choose__caller(struct units *units, const struct profile *profile,
				       const struct halo_func *fn, const bool *visited)
{
	struct search s = {.profile = profile, .fn = fn, .visited = visited};
	LLVMModuleRef module;
	uint32_t i;

	for (i = 0; i < units->p->n_units; i++) {
		if ((fn->flags & HALO_FUNC_LOCAL) && i != fn->unit)
			continue;
		module = units__module(units, i);
		if (module)
			search_unit(&s, module, i);
	}
	return s.best;
}
