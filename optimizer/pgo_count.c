// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>

#include "../user/lib/util.h"
#include "ir.h"
#include "pgo.h"
#include "pgo_map.h"
#include "shim.h"

#define COUNTERS_SYMBOL "__halo_counters"
#define RECORD_SYMBOL	"halo.record_value"
#define FS_SPACE	257 /* LLVM's address space for what %fs: reaches on x86-64 */
#define RSEQ_CPU_ID	4   /* in struct rseq */
#define LINE_SIZE	64

/*
 * A site holds the first seven values that come by, and how often; and how often any did. Threads
 * meet here, so that all is atomic.
 */
static const char record_value[] =
	"define hidden void @" RECORD_SYMBOL "(ptr %site, i64 %value) noinline nounwind uwtable {\n"
	"	%all = atomicrmw add ptr %site, i64 1 monotonic\n"
	"	%key = add i64 %value, 1\n"
	"	br label %loop\n"
	"loop:\n"
	"	%i = phi i64 [ 1, %0 ], [ %next, %miss ]\n"
	"	%place = getelementptr [2 x i64], ptr %site, i64 %i\n"
	"	%seen = load atomic i64, ptr %place monotonic, align 8\n"
	"	%same = icmp eq i64 %seen, %key\n"
	"	br i1 %same, label %hit, label %other\n"
	"other:\n"
	"	%free = icmp eq i64 %seen, 0\n"
	"	br i1 %free, label %claim, label %miss\n"
	"claim:\n"
	"	%swap = cmpxchg ptr %place, i64 0, i64 %key monotonic monotonic\n"
	"	%old = extractvalue { i64, i1 } %swap, 0\n"
	"	%won = extractvalue { i64, i1 } %swap, 1\n"
	"	%equal = icmp eq i64 %old, %key\n"
	"	%ours = or i1 %won, %equal\n"
	"	br i1 %ours, label %hit, label %miss\n"
	"hit:\n"
	"	%count = getelementptr i64, ptr %place, i64 1\n"
	"	%before = atomicrmw add ptr %count, i64 1 monotonic\n"
	"	ret void\n"
	"miss:\n"
	"	%next = add i64 %i, 1\n"
	"	%more = icmp ult i64 %next, 8\n"
	"	br i1 %more, label %loop, label %end\n"
	"end:\n"
	"	ret void\n"
	"}\n";

struct counter {
	LLVMModuleRef module;
	LLVMContextRef ctx;
	LLVMBuilderRef builder;
	LLVMTypeRef i64, i8;
	LLVMValueRef area; /* COUNTERS_SYMBOL */
	LLVMValueRef base; /* in the current function: this CPU's copy; NULL: not computed yet */
	LLVMValueRef record;
	LLVMTypeRef record_type;
	const struct request_counters *where;
	bool atomic;
	struct pgo_map *map;
};

/* As many copies as there are CPUs, if they fit; they need no atomic additions then. */
static int lay_out(struct counter *c, struct halo_err *err)
{
	struct pgo_map *map = c->map;
	uint64_t sites = (uint64_t)map->n_sites * PGO_SITE_SIZE, cpus = 1;

	while (cpus < c->where->cpus)
		cpus *= 2;
	map->stride = (map->n_counters * 8 + LINE_SIZE - 1) / LINE_SIZE * LINE_SIZE;
	map->copies = c->where->rseq ? cpus : 1;
	while (map->copies > 1 && map->copies * (uint64_t)map->stride + sites > c->where->room)
		map->copies /= 2;
	c->atomic = map->copies < c->where->cpus;
	if (map->copies * (uint64_t)map->stride + sites > c->where->room)
		return halo_err__set(err, -ENOSPC, "the section has too many counters (%u)",
				     map->n_counters);
	return 0;
}

static LLVMValueRef number64(const struct counter *c, uint64_t n)
{
	return LLVMConstInt(c->i64, n, false);
}

static LLVMValueRef offset(const struct counter *c, LLVMValueRef from, LLVMValueRef bytes)
{
	return LLVMBuildGEP2(c->builder, c->i8, from, &bytes, 1, "");
}

/* The copy of the CPU that runs the function's first instruction. */
static void build_base(struct counter *c, LLVMValueRef fn)
{
	LLVMTypeRef i32 = LLVMInt32TypeInContext(c->ctx);
	LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(fn);
	LLVMValueRef at, cpu;

	c->base = c->area;
	if (c->map->copies == 1)
		return;
	LLVMPositionBuilderBefore(c->builder, LLVMGetFirstInstruction(entry));
	at = LLVMConstIntToPtr(number64(c, (uint64_t)(c->where->rseq + RSEQ_CPU_ID)),
			       LLVMPointerTypeInContext(c->ctx, FS_SPACE));
	cpu = LLVMBuildLoad2(c->builder, i32, at, "");
	cpu = LLVMBuildAnd(c->builder, cpu, LLVMConstInt(i32, c->map->copies - 1, false), "");
	cpu = LLVMBuildZExt(c->builder, cpu, c->i64, "");
	c->base = offset(c, c->area,
			 LLVMBuildMul(c->builder, cpu, number64(c, c->map->stride), ""));
}

/* Add @step to counter @n, before the builder's position. */
static void build_add(const struct counter *c, uint32_t n, LLVMValueRef step)
{
	LLVMValueRef at = offset(c, c->base, number64(c, 8ULL * n)), old;

	if (c->atomic) {
		LLVMBuildAtomicRMW(c->builder, LLVMAtomicRMWBinOpAdd, at, step,
				   LLVMAtomicOrderingMonotonic, false);
		return;
	}
	old = LLVMBuildLoad2(c->builder, c->i64, at, "");
	LLVMBuildStore(c->builder, LLVMBuildAdd(c->builder, old, step, ""), at);
}

static void lower_increment(const struct counter *c, LLVMValueRef inst)
{
	const struct request_counted *f = pgo_map__find(c->map, inst);
	bool has_step = LLVMGetNumArgOperands(inst) > 4;

	if (f)
		build_add(c, f->first + pgo_map__constant(inst, 3),
			  has_step ? LLVMGetOperand(inst, 4) : number64(c, 1));
}

static void lower_value(const struct counter *c, LLVMValueRef inst)
{
	const struct request_counted *f = pgo_map__find(c->map, inst);
	uint64_t kind = pgo_map__constant(inst, 3), site;
	LLVMValueRef args[2];

	if (!f || kind >= REQUEST_KINDS)
		return;
	site = f->first_site + pgo_map__constant(inst, 4);
	for (uint64_t k = 0; k < kind; k++)
		site += f->sites[k];
	args[0] = offset(
		c, c->area,
		number64(c, (uint64_t)c->map->copies * c->map->stride + site * PGO_SITE_SIZE));
	args[1] = LLVMGetOperand(inst, 2);
	LLVMBuildCall2(c->builder, c->record_type, c->record, args, 2, "");
}

static void lower_function(struct counter *c, LLVMValueRef fn)
{
	LLVMValueRef next;

	build_base(c, fn);
	ir__for_each_block(block, fn)
	{
		for (LLVMValueRef inst = LLVMGetFirstInstruction(block); inst; inst = next) {
			next = LLVMGetNextInstruction(inst);
			if (!pgo_map__is_increment(inst) && !pgo_map__is_value(inst))
				continue;
			LLVMPositionBuilderBefore(c->builder, inst);
			if (pgo_map__is_increment(inst))
				lower_increment(c, inst);
			else
				lower_value(c, inst);
			LLVMInstructionEraseFromParent(inst);
		}
	}
}

static bool counts(LLVMValueRef fn)
{
	ir__for_each_block(block, fn)
	{
		ir__for_each_inst(inst, block)
		{
			if (pgo_map__is_increment(inst) || pgo_map__is_value(inst))
				return true;
		}
	}
	return false;
}

/* A call that must be the last thing before the return stands before it. */
static LLVMValueRef before_return(LLVMValueRef ret)
{
	LLVMValueRef last = LLVMGetPreviousInstruction(ret);

	if (last && LLVMIsACallInst(last) && LLVMGetTailCallKind(last) == LLVMTailCallKindMustTail)
		return last;
	return ret;
}

/* How many are inside tells when what they counted is whole. */
static void count_visits(struct counter *c, LLVMValueRef root)
{
	LLVMValueRef one = number64(c, 1), last;

	ir__for_each_block(block, root)
	{
		last = LLVMGetBasicBlockTerminator(block);
		if (!last || !(LLVMIsAReturnInst(last) || LLVMIsAResumeInst(last)))
			continue;
		LLVMPositionBuilderBefore(c->builder, before_return(last));
		build_add(c, PGO_LEFT, one);
	}
	/* Behind the instructions that compute the base, which are the first. */
	last = c->base == c->area ? LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(root))
				  : LLVMGetNextInstruction(c->base);
	LLVMPositionBuilderBefore(c->builder, last);
	build_add(c, PGO_ENTERED, one);
}

static int add_recorder(struct counter *c)
{
	LLVMMemoryBufferRef text = LLVMCreateMemoryBufferWithMemoryRangeCopy(
		record_value, sizeof(record_value) - 1, "record");
	LLVMModuleRef module = NULL;
	char *message = NULL;

	if (LLVMParseIRInContext(c->ctx, text, &module, &message)) {
		LLVMDisposeMessage(message);
		return -EINVAL;
	}
	LLVMSetTarget(module, LLVMGetTarget(c->module));
	LLVMSetDataLayout(module, LLVMGetDataLayoutStr(c->module));
	if (LLVMLinkModules2(c->module, module))
		return -EINVAL;
	c->record = LLVMGetNamedFunction(c->module, RECORD_SYMBOL);
	c->record_type = LLVMGlobalGetValueType(c->record);
	LLVMSetLinkage(c->record, LLVMInternalLinkage);
	return 0;
}

static int lower(struct counter *c, const struct section *section, struct halo_err *err)
{
	char root[4096];
	LLVMValueRef fn;
	int ret;

	ret = pgo_map__number(c->map, c->module);
	if (ret)
		return halo_err__set(err, ret, "out of memory");
	ret = lay_out(c, err);
	if (ret)
		return ret;
	if (c->map->n_sites && add_recorder(c))
		return halo_err__set(err, -EINVAL, "LLVM refuses the code that records values");
	bind__member_name(&section->members[0], root, sizeof(root));
	fn = LLVMGetNamedFunction(c->module, root);
	ir__for_each_function(f, c->module)
	{
		if (LLVMIsDeclaration(f) || (f != fn && !counts(f)))
			continue;
		lower_function(c, f);
		if (f == fn)
			count_visits(c, f);
	}
	return 0;
}

int pgo__count(struct bound *bound, const struct section *section, const struct request *req,
	       LLVMTargetMachineRef machine, struct pgo_map *map, struct halo_err *err)
{
	LLVMContextRef ctx = LLVMGetModuleContext(bound->module);
	struct counter c = {
		.module = bound->module,
		.ctx = ctx,
		.i64 = LLVMInt64TypeInContext(ctx),
		.i8 = LLVMInt8TypeInContext(ctx),
		.where = &req->counters,
		.map = map,
	};
	struct place place = {.where = WHERE_PROGRAM, .addr = (uint64_t)req->counters.place};
	int ret;

	memset(map, 0, sizeof(*map));
	map->n_counters = PGO_FIRST;
	shim__preinline(bound->module, machine);
	shim__count(bound->module, machine);
	c.area = LLVMAddGlobal(bound->module, c.i8, COUNTERS_SYMBOL);
	LLVMSetVisibility(c.area, LLVMHiddenVisibility);
	if (symbols__add(&bound->symbols, COUNTERS_SYMBOL, place))
		return halo_err__set(err, -ENOMEM, "out of memory");
	c.builder = LLVMCreateBuilderInContext(ctx);
	ret = lower(&c, section, err);
	LLVMDisposeBuilder(c.builder);
	pgo_map__drop_names(bound->module);
	return ret;
}
