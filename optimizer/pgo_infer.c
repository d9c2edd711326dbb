// SPDX-License-Identifier: BSD-2-Clause
/*
 * From recorded branches to counts. What code that counts would have for counters is found in a copy of
 * the module, and each takes the flow through the block where it would count.
 *
 * The program tells of each block of the source how often it ran, wherever it was inlined. So a function's
 * own blocks are taken first; what was inlined into it shares its function's counts by the flow that
 * the blocks around it have, which then makes the next flow better.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../tools/prepare/probes.h"
#include "../user/lib/util.h"
#include "flow.h"
#include "ir.h"
#include "pgo_map.h"

#define ROUNDS 3

struct body {
	struct flow flow;
	uint64_t function; /* id in its own probes */
	bool sampled;
};

/* All copies in the module of a block of the source. */
struct copies {
	size_t n;
	uint64_t flow; /* of the round before */
};

struct infer {
	const struct branches *branches;
	LLVMModuleRef module; /* the copy, with llvm.instrprof.* and probes */
	struct body *bodies;
	size_t n_bodies;
	struct copies *copies; /* by index in branches->blocks */
	struct pgo_map map;
	struct request_profile *out;
};

static const struct block_count *counted(const struct infer *f, LLVMValueRef inst,
					 uint64_t *function)
{
	uint64_t number;

	if (!halo_probe__read(inst, function, &number))
		return NULL;
	return branches__block(f->branches, *function, number);
}

static struct copies *copies_of(const struct infer *f, const struct block_count *b)
{
	return &f->copies[b - f->branches->blocks];
}

/* The first probe of the entry is its own: what was inlined there comes behind. */
static uint64_t own_function(LLVMValueRef fn)
{
	uint64_t function, number;

	ir__for_each_inst(inst, LLVMGetEntryBasicBlock(fn))
	{
		if (halo_probe__read(inst, &function, &number))
			return function;
	}
	return 0;
}

static int add_bodies(struct infer *f)
{
	size_t n = 0;
	int ret = 0;

	ir__for_each_function(fn, f->module) n += !LLVMIsDeclaration(fn);
	f->bodies = calloc(n + 1, sizeof(*f->bodies));
	f->copies = calloc(f->branches->n_blocks + 1, sizeof(*f->copies));
	if (!f->bodies || !f->copies)
		return -ENOMEM;
	ir__for_each_function(fn, f->module)
	{
		struct body *b = &f->bodies[f->n_bodies];

		if (LLVMIsDeclaration(fn) || ret)
			continue;
		f->n_bodies++;
		b->function = own_function(fn);
		ret = flow__init(&b->flow, fn);
	}
	return ret;
}

static void sum_copies(struct infer *f)
{
	const struct block_count *block;
	uint64_t function;

	memset(f->copies, 0, f->branches->n_blocks * sizeof(*f->copies));
	for (size_t i = 0; i < f->n_bodies; i++) {
		const struct flow *flow = &f->bodies[i].flow;

		for (size_t k = 0; k < flow->n; k++) {
			ir__for_each_inst(inst, flow->blocks[k])
			{
				block = counted(f, inst, &function);
				if (!block)
					continue;
				copies_of(f, block)->n++;
				copies_of(f, block)->flow += flow->counts[k];
			}
		}
	}
}

/*
 * Of a function's count, what belongs to its copies here: other callers may have it inlined, too. Where
 * its entry has become part of another block, all of it is taken to.
 */
static double share_here(const struct infer *f, uint64_t function)
{
	const struct block_count *entry = branches__block(f->branches, function, 0);

	if (!entry || !entry->count || !copies_of(f, entry)->n ||
	    copies_of(f, entry)->flow >= entry->count)
		return 1;
	return (double)copies_of(f, entry)->flow / (double)entry->count;
}

static uint64_t inlined_count(const struct infer *f, const struct block_count *block,
			      uint64_t function, uint64_t flow)
{
	const struct copies *c = copies_of(f, block);
	double part = c->flow ? (double)flow / (double)c->flow : 1.0 / (double)c->n;

	return (uint64_t)((double)block->count * share_here(f, function) * part + 0.5);
}

/* What is known of block @k. In the first round flows are not, and so nothing of what was inlined. */
static uint64_t known_count(const struct infer *f, const struct body *body, size_t k, bool first)
{
	uint64_t own = FLOW_UNKNOWN, inlined = FLOW_UNKNOWN, function, count;
	const struct block_count *block;

	ir__for_each_inst(inst, body->flow.blocks[k])
	{
		block = counted(f, inst, &function);
		if (!block)
			continue;
		if (function == body->function) {
			if (own == FLOW_UNKNOWN || own < block->count)
				own = block->count;
			continue;
		}
		if (first)
			continue;
		count = inlined_count(f, block, function, body->flow.counts[k]);
		if (inlined == FLOW_UNKNOWN || inlined < count)
			inlined = count;
	}
	return own != FLOW_UNKNOWN ? own : inlined;
}

static int infer_body(const struct infer *f, struct body *b, bool first)
{
	__cleanup_free uint64_t *known = calloc(b->flow.n, sizeof(*known));

	if (!known)
		return -ENOMEM;
	for (size_t k = 0; k < b->flow.n; k++) {
		known[k] = known_count(f, b, k, first);
		b->sampled |= known[k] && known[k] != FLOW_UNKNOWN;
	}
	memcpy(b->flow.counts, known, b->flow.n * sizeof(*known));
	return flow__infer(&b->flow);
}

static int infer_all(struct infer *f)
{
	int ret = 0;

	for (int round = 0; round < ROUNDS && !ret; round++) {
		for (size_t i = 0; i < f->n_bodies && !ret; i++)
			ret = infer_body(f, &f->bodies[i], !round);
		sum_copies(f);
	}
	return ret;
}

/* The probe before the call that a value is recorded for. */
static bool call_probe(LLVMValueRef value, uint64_t *function, uint64_t *number)
{
	for (LLVMValueRef i = LLVMGetPreviousInstruction(value); i;
	     i = LLVMGetPreviousInstruction(i)) {
		if (halo_probe__read(i, function, number)) {
			if (*number & HALO_PROBE_CALL)
				return true;
		} else if (LLVMIsACallInst(i) && !ir__callee(i)) {
			return false;
		}
	}
	return false;
}

/* The targets of a call, in the shares in which they were called, as if it had run @flow times. */
static int add_targets(const struct infer *f, LLVMValueRef value, uint32_t site, uint64_t flow)
{
	struct request_profile *out = f->out;
	const struct call_count *calls;
	uint64_t function, number;
	struct request_value *more;
	double all = 0;
	size_t n;

	if (!call_probe(value, &function, &number))
		return 0;
	calls = branches__calls(f->branches, function, number, &n);
	if (!n)
		return 0;
	more = reallocarray(out->values, out->n_values + n + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	out->values = more;
	for (size_t i = 0; i < n; i++)
		all += (double)calls[i].count;
	/* The first row of a site has the count of all. */
	more[out->n_values++] = (struct request_value){.site = site, .count = flow};
	for (size_t i = 0; i < n; i++)
		more[out->n_values++] = (struct request_value){
			.site = site,
			.value = calls[i].target->addr,
			.count = (uint64_t)((double)calls[i].count / all * (double)flow + 0.5),
		};
	return 0;
}

/* Of a choice without branches nothing is known: half of it goes either way. */
static uint64_t count_of(LLVMValueRef increment, uint64_t flow)
{
	return LLVMGetNumArgOperands(increment) > 4 ? flow / 2 : flow;
}

static int fill_block(const struct infer *f, const struct body *b, size_t k)
{
	uint64_t flow = b->flow.counts[k];
	struct request_counted *counted;
	int ret = 0;

	ir__for_each_inst(inst, b->flow.blocks[k])
	{
		if (!pgo_map__is_increment(inst) && !pgo_map__is_value(inst))
			continue;
		counted = pgo_map__find(&f->map, inst);
		if (!counted)
			continue;
		if (pgo_map__is_increment(inst))
			f->out->counts[counted->first + pgo_map__constant(inst, 3)] =
				count_of(inst, flow);
		else if (pgo_map__constant(inst, 3) == PGO_KIND_TARGET)
			ret = add_targets(f, inst, counted->first_site + pgo_map__constant(inst, 4),
					  flow);
		if (ret)
			return ret;
	}
	return 0;
}

static int fill_body(const struct infer *f, const struct body *b)
{
	int ret = 0;

	for (size_t k = 0; k < b->flow.n && !ret; k++)
		ret = fill_block(f, b, k);
	return ret;
}

static struct request_counted *counted_body(const struct infer *f, const struct body *b)
{
	ir__for_each_block(block, b->flow.fn)
	{
		ir__for_each_inst(inst, block)
		{
			if (pgo_map__is_increment(inst))
				return pgo_map__find(&f->map, inst);
		}
	}
	return NULL;
}

/* Of code that was never seen to run nothing is said, rather than that it never runs. */
static int fill(struct infer *f)
{
	struct request_profile *out = f->out;
	struct request_counted *counted;
	int ret = 0;

	out->n_counts = f->map.n_counters;
	out->counts = calloc(out->n_counts + 1, sizeof(*out->counts));
	out->functions = calloc(f->map.n_functions + 1, sizeof(*out->functions));
	if (!out->counts || !out->functions)
		return -ENOMEM;
	for (size_t i = 0; i < f->n_bodies && !ret; i++) {
		counted = f->bodies[i].sampled ? counted_body(f, &f->bodies[i]) : NULL;
		if (!counted)
			continue;
		ret = fill_body(f, &f->bodies[i]);
		out->functions[out->n_functions] = *counted;
		out->functions[out->n_functions].name = strdup(counted->name);
		if (!out->functions[out->n_functions++].name)
			ret = -ENOMEM;
	}
	return ret;
}

int pgo__infer(struct units *units, LLVMModuleRef module, LLVMTargetMachineRef machine,
	       struct request_profile *out, struct halo_err *err)
{
	struct infer f = {
		.branches = units->branches,
		.module = LLVMCloneModule(module),
		.out = out,
		.map.n_counters = PGO_FIRST,
	};
	int ret;

	memset(out, 0, sizeof(*out));
	shim__count(f.module, machine);
	ret = pgo_map__number(&f.map, f.module);
	if (!ret)
		ret = add_bodies(&f);
	if (!ret)
		ret = infer_all(&f);
	if (!ret)
		ret = fill(&f);
	if (ret)
		halo_err__set(err, ret, "out of memory");
	for (size_t i = 0; i < f.n_bodies; i++)
		flow__free(&f.bodies[i].flow);
	free(f.bodies);
	free(f.copies);
	pgo__free_map(&f.map);
	LLVMDisposeModule(f.module);
	return ret;
}

void pgo__free_inferred(struct request_profile *profile)
{
	for (size_t i = 0; i < profile->n_functions; i++)
		free(profile->functions[i].name);
	free(profile->functions);
	free(profile->counts);
	free(profile->values);
	memset(profile, 0, sizeof(*profile));
}
