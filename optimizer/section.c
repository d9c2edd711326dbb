// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../user/lib/util.h"
#include "attrs.h"
#include "ir.h"
#include "link.h"
#include "pgo.h"
#include "resolve.h"
#include "section.h"

#define HOT_SHARE	 0.005
#define SMALL		 200   /* instructions, before any optimization */
#define DEPTH_MAX	 2     /* calls below hot code at which small functions still matter */
#define INSTRUCTIONS_MAX 40000 /* of a section */
#define RESTARTS_MAX	 64

/* A function that the section can do without, or can't hold after all. */
struct banned {
	uint32_t unit;
	LLVMValueRef fn;
};

struct builder {
	struct units *units;
	const struct profile *profile;
	const struct request *req;
	struct section *section;
	struct section_root *roots;
	size_t n_roots;
	LLVMValueRef *fns;   /* of the members */
	unsigned int *depth; /* of the members: calls below the nearest hot one */
	size_t capacity;
	uint64_t instructions;
	struct banned banned[RESTARTS_MAX];
	size_t n_banned;
	char *why; /* about the last function that was refused */
	size_t why_size;
};

bool section__definition(struct units *units, uint32_t unit, LLVMValueRef fn, uint32_t *def_unit,
			 LLVMValueRef *def)
{
	const struct halo_func *row = resolve__func(units->p, unit, fn);
	LLVMModuleRef module;

	*def_unit = row ? row->unit : unit;
	*def = fn;
	if (!row && LLVMIsDeclaration(fn) &&
	    resolve__value(units->p, unit, fn).where == WHERE_NOWHERE)
		*def = units__find(units, resolve__name(fn), def_unit);
	if (*def_unit != unit) {
		module = units__module(units, *def_unit);
		*def = module ? LLVMGetNamedFunction(module, resolve__name(fn)) : NULL;
	}
	return *def && !LLVMIsDeclaration(*def);
}

static bool is_banned(const struct builder *b, LLVMValueRef fn)
{
	size_t i;

	for (i = 0; i < b->n_banned; i++)
		if (b->banned[i].fn == fn)
			return true;
	return false;
}

static bool is_member(const struct builder *b, LLVMValueRef fn)
{
	size_t i;

	for (i = 0; i < b->section->n_members; i++)
		if (b->fns[i] == fn)
			return true;
	return false;
}

static void clear(struct builder *b)
{
	section__free(b->section);
	b->instructions = 0;
}

static int add(struct builder *b, uint32_t unit, LLVMValueRef fn, const struct facts *facts,
	       unsigned int depth)
{
	struct section *s = b->section;
	struct member *m;
	LLVMValueRef *fns;
	unsigned int *list;

	m = reallocarray(s->members, s->n_members + 1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	s->members = m;
	fns = reallocarray(b->fns, s->n_members + 1, sizeof(LLVMValueRef));
	if (!fns)
		return -ENOMEM;
	b->fns = fns;
	list = reallocarray(b->depth, s->n_members + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	b->depth = list;
	list[s->n_members] = depth;
	m += s->n_members;
	*m = (struct member){
		.unit = unit,
		.name = strdup(resolve__name(fn)),
		.row = resolve__func(b->units->p, unit, fn),
		.local = resolve__is_local(fn),
		.facts = *facts,
	};
	if (!m->name)
		return -ENOMEM;
	b->fns[s->n_members++] = fn;
	b->instructions += facts->instructions;
	return 0;
}

/* The program's own copy can't be called, so a caller in the image needs one there. */
static bool must_include(const struct halo_prepared *p, uint32_t unit, LLVMValueRef fn)
{
	const struct halo_func *row = resolve__func(p, unit, fn);

	return resolve__value(p, unit, fn).where == WHERE_NOWHERE ||
	       (row && (row->flags & HALO_FUNC_ABI_CHANGED)) || ir__has_attr(fn, "alwaysinline");
}

/*
 * @depth: calls below the nearest hot function. What the shipped build inlined has no samples of
 * its own: directly below a hot function it is taken to be part of it.
 */
static bool is_hot(const struct builder *b, const struct halo_func *row, unsigned int depth)
{
	return profile__share(b->profile, row) >= HOT_SHARE ||
	       (row && (row->flags & HALO_FUNC_INLINED) && depth == 1);
}

/* Counts are of use only for the same functions, inlined into each other in the same way. */
static bool was_counted(const struct builder *b, uint32_t unit, LLVMValueRef fn)
{
	const struct request_profile *p = &b->req->profile;

	for (size_t i = 0; i < p->n_members; i++)
		if (p->members[i].unit == unit &&
		    !strcmp(p->members[i].function, resolve__name(fn)))
			return true;
	return false;
}

static bool is_worth_it(const struct builder *b, uint32_t unit, LLVMValueRef fn,
			const struct halo_func *row, const struct facts *facts, unsigned int depth)
{
	if (b->req->has_profile)
		return was_counted(b, unit, fn);
	if (b->instructions + facts->instructions > INSTRUCTIONS_MAX)
		return false;
	return is_hot(b, row, depth) || (facts->instructions <= SMALL && depth <= DEPTH_MAX);
}

static int refused(struct builder *b, LLVMValueRef callee, const char *why)
{
	snprintf(b->why, b->why_size,
		 "it calls %s, which has no code of its own and can't be "
		 "copied: %s",
		 resolve__name(callee), why);
	return -ENOTSUP;
}

static bool is_supplied(const char *name)
{
	return link__has_runtime(name) || attrs__is_libcall(name);
}

/* All definitions that a process may have of it are the same, as C++ has it of inline functions. */
static bool is_one_definition(LLVMValueRef fn)
{
	LLVMLinkage linkage = LLVMGetLinkage(fn);

	return linkage == LLVMLinkOnceODRLinkage || linkage == LLVMWeakODRLinkage;
}

/* -ENOTSUP: the caller can't be in the section, because this call can't be made from it. */
static int consider_call(struct builder *b, uint32_t unit, LLVMValueRef callee, unsigned int depth)
{
	bool must = must_include(b->units->p, unit, callee);
	const struct halo_func *row;
	struct facts facts;
	LLVMValueRef fn;
	uint32_t in;

	if (!section__definition(b->units, unit, callee, &in, &fn)) {
		return must && !is_supplied(resolve__name(callee)) &&
				       !resolve__is_never(b->units->p, unit, callee)
			       ? refused(b, callee, "there is no bitcode for it")
			       : 0;
	}
	if (is_member(b, fn)) {
		b->section->recursive |= fn == b->fns[0];
		return 0;
	}
	if (!must && resolve__is_preempted(b->units->p, callee) && !is_one_definition(fn))
		return 0;
	if (is_banned(b, fn))
		return must ? refused(b, callee, "what it needs is missing") : 0;
	row = resolve__func(b->units->p, in, fn);
	inspect__function(b->units, in, fn, b->req->fp, &facts);
	if (!facts.usable)
		return must ? refused(b, callee, facts.why) : 0;
	if (!is_worth_it(b, in, fn, row, &facts, depth) &&
	    (!must || b->instructions + facts.instructions > 2 * INSTRUCTIONS_MAX))
		return must ? refused(b, callee, "it is too large") : 0;
	return add(b, in, fn, &facts, is_hot(b, row, depth) ? 0 : depth);
}

static int consider_callees(struct builder *b, size_t i)
{
	uint32_t unit = b->section->members[i].unit;
	LLVMValueRef callee;
	int ret;

	ir__for_each_block(block, b->fns[i])
	{
		ir__for_each_inst(inst, block)
		{
			callee = ir__callee(inst);
			if (!callee || LLVMGetIntrinsicID(callee))
				continue;
			ret = consider_call(b, unit, callee, b->depth[i] + 1);
			if (ret)
				return ret;
		}
	}
	return 0;
}

static struct section_root *root_of(const struct builder *b, LLVMValueRef fn)
{
	size_t i;

	for (i = 0; i < b->n_roots; i++)
		if (b->roots[i].fn == fn && !b->roots[i].why[0])
			return &b->roots[i];
	return NULL;
}

/* Without member @i, which can't be in a variant. */
static int drop(struct builder *b, size_t i)
{
	struct section_root *root = i < b->section->n_roots ? root_of(b, b->fns[i]) : NULL;

	if (root) {
		snprintf(root->why, sizeof(root->why), "%s", b->why);
		return 0;
	}
	if (b->n_banned == RESTARTS_MAX)
		return -ENOTSUP;
	b->banned[b->n_banned++] = (struct banned){.unit = b->section->members[i].unit,
						   .fn = b->fns[i]};
	return 0;
}

/* -EAGAIN: a member was dropped; start again without it. */
static int close_section(struct builder *b)
{
	size_t i;
	int ret;

	for (i = 0; i < b->section->n_members; i++) {
		ret = consider_callees(b, i);
		if (ret == -ENOTSUP)
			ret = drop(b, i) ?: -EAGAIN;
		if (ret)
			return ret;
	}
	return 0;
}

static size_t find_targets(const struct builder *b, const struct halo_func *out[PGO_TARGETS_MAX])
{
	size_t n = 0;

	if (b->req->has_profile)
		return pgo__targets(b->units->p, &b->req->profile, out);
	for (size_t i = 0; i < b->section->n_members; i++)
		n = pgo__recorded_targets(b->units->branches, b->fns[i], out, n);
	return n;
}

/*
 * Where indirect calls went. One that can't be a member is called as before; nothing else depends on
 * it.
 */
static int add_targets(struct builder *b)
{
	const struct halo_func *targets[PGO_TARGETS_MAX];
	size_t n = find_targets(b, targets), at;
	struct facts facts;
	LLVMModuleRef module;
	LLVMValueRef fn;
	int ret;

	for (size_t i = 0; i < n; i++) {
		module = units__module(b->units, targets[i]->unit);
		fn = module ? LLVMGetNamedFunction(module, targets[i]->name) : NULL;
		if (!fn || LLVMIsDeclaration(fn) || is_member(b, fn) || is_banned(b, fn))
			continue;
		inspect__function(b->units, targets[i]->unit, fn, b->req->fp, &facts);
		if (!facts.usable || b->instructions + facts.instructions > INSTRUCTIONS_MAX)
			continue;
		at = b->section->n_members;
		ret = add(b, targets[i]->unit, fn, &facts, 0);
		if (ret)
			return ret;
		b->section->members[at].target = true;
	}
	return close_section(b);
}

static void find_root(struct units *units, struct section_root *root)
{
	LLVMModuleRef module = units__module(units, root->func->unit);
	LLVMValueRef fn = module ? LLVMGetNamedFunction(module, root->func->name) : NULL;

	if (!module)
		snprintf(root->why, sizeof(root->why), "%.255s",
			 units->state[root->func->unit].why);
	else if (!fn || LLVMIsDeclaration(fn))
		snprintf(root->why, sizeof(root->why), "its unit's bitcode does not hold it");
	root->fn = fn;
}

static int add_root(struct builder *b, struct section_root *root)
{
	struct facts facts;

	inspect__function(b->units, root->func->unit, root->fn, b->req->fp, &facts);
	if (!facts.usable) {
		snprintf(root->why, sizeof(root->why), "%s", facts.why);
		return 0;
	}
	return add(b, root->func->unit, root->fn, &facts, 0);
}

static int add_roots(struct builder *b)
{
	size_t i;
	int ret = 0;

	for (i = 0; i < b->n_roots && !ret; i++)
		if (!b->roots[i].why[0] && !is_member(b, b->roots[i].fn))
			ret = add_root(b, &b->roots[i]);
	b->section->n_roots = b->section->n_members;
	return ret ?: b->section->n_roots ? 0 : -ENOTSUP;
}

int section__build(struct units *units, const struct profile *profile, const struct request *req,
		   struct section_root *roots, size_t n, struct section *out)
{
	char why[256] = "";
	struct builder b = {.units = units,
			    .profile = profile,
			    .req = req,
			    .section = out,
			    .roots = roots,
			    .n_roots = n,
			    .why = why,
			    .why_size = sizeof(why)};
	size_t i;
	int ret;

	memset(out, 0, sizeof(*out));
	for (i = 0; i < n; i++)
		find_root(units, &roots[i]);
	do {
		clear(&b);
		ret = add_roots(&b);
		if (!ret)
			ret = close_section(&b);
		if (!ret && (req->has_profile || req->has_branches))
			ret = add_targets(&b);
	} while (ret == -EAGAIN);
	for (i = 0; i < n && ret == -ENOTSUP; i++)
		if (!roots[i].why[0])
			snprintf(roots[i].why, sizeof(roots[i].why), "%s", why);
	free(b.fns);
	free(b.depth);
	if (ret)
		section__free(out);
	return ret;
}

void section__free(struct section *section)
{
	size_t i;

	for (i = 0; i < section->n_members; i++)
		free(section->members[i].name);
	free(section->members);
	memset(section, 0, sizeof(*section));
}

const struct member *section__find(const struct section *section, uint32_t unit, const char *name,
				   bool local)
{
	size_t i;

	for (i = 0; i < section->n_members; i++) {
		const struct member *m = &section->members[i];

		if (m->local == local && (!local || m->unit == unit) && strcmp(m->name, name) == 0)
			return m;
	}
	return NULL;
}
