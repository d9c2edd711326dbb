// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <string.h>
#include <time.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "attrs.h"
#include "compile.h"
#include "fp.h"
#include "imports.h"
#include "landing.h"
#include "shifts.h"
#include "shim.h"

#define TRIPLE	   "x86_64-pc-linux-gnu"
#define ROUNDS_MAX 4 /* of folding a * b + c, each of which may make others constant */

double compile__now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

void compile__init(void)
{
	LLVMInitializeX86TargetInfo();
	LLVMInitializeX86Target();
	LLVMInitializeX86TargetMC();
	LLVMInitializeX86AsmPrinter();
	LLVMInitializeX86AsmParser();
}

static void set_caution(enum compile_caution caution)
{
	/* The vectorizer may not reorder floating-point operations because of a hint. */
	static const char *const always[] = {"halo-opt", "-hints-allow-reordering=false"};
	static const char *const careful[] = {"halo-opt", "-switch-to-lookup=false"};

	LLVMParseCommandLineOptions(2, always, "");
	if (caution >= CAUTION_TABLES)
		LLVMParseCommandLineOptions(2, careful, "");
}

/* Functions carry their own CPU and features; the machine's are for what has none. */
static int create_machine(int opt, LLVMTargetMachineRef *machine, struct halo_err *err)
{
	static const LLVMCodeGenOptLevel levels[] = {LLVMCodeGenLevelNone, LLVMCodeGenLevelLess,
						     LLVMCodeGenLevelDefault,
						     LLVMCodeGenLevelAggressive};
	LLVMTargetRef target;
	char *message = NULL;

	if (LLVMGetTargetFromTriple(TRIPLE, &target, &message)) {
		halo_err__set(err, -ENOSYS, "LLVM has no target %s: %s", TRIPLE, message);
		LLVMDisposeMessage(message);
		return err->code;
	}
	*machine = LLVMCreateTargetMachine(target, TRIPLE, "x86-64", "", levels[opt], LLVMRelocPIC,
					   LLVMCodeModelSmall);
	return *machine ? 0 : halo_err__set(err, -ENOSYS, "LLVM can't make code for %s", TRIPLE);
}

static int run_passes(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *passes,
		      const struct request_config *config, enum compile_caution caution,
		      struct halo_err *err)
{
	LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
	LLVMErrorRef error;
	char *message;

	LLVMPassBuilderOptionsSetLoopInterleaving(options, config->interleave);
	LLVMPassBuilderOptionsSetLoopVectorization(options, config->vectorize);
	LLVMPassBuilderOptionsSetLoopUnrolling(options, config->unroll);
	LLVMPassBuilderOptionsSetSLPVectorization(options, config->slp && caution < CAUTION_SLP);
	if (config->inline_threshold >= 0)
		LLVMPassBuilderOptionsSetInlinerThreshold(options, config->inline_threshold);
	error = LLVMRunPasses(module, passes, machine, options);
	LLVMDisposePassBuilderOptions(options);
	if (!error)
		return 0;
	message = LLVMGetErrorMessage(error);
	halo_err__set(err, -EINVAL, "LLVM can't run the passes %s: %s", passes, message);
	LLVMDisposeErrorMessage(message);
	return err->code;
}

static int emit(LLVMModuleRef module, LLVMTargetMachineRef machine, LLVMMemoryBufferRef *object,
		struct halo_err *err)
{
	char *message = NULL;

	if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMObjectFile, &message,
						object)) {
		halo_err__set(err, -ENOTSUP, "LLVM can't make an object: %.200s", message);
		LLVMDisposeMessage(message);
		return err->code;
	}
	return 0;
}

static int verify(LLVMModuleRef module, struct halo_err *err)
{
	char *message = NULL;
	int ret = 0;

	if (LLVMVerifyModule(module, LLVMReturnStatusAction, &message))
		ret = halo_err__set(err, -EPROTO, "the optimized code is not valid: %.200s",
				    message);
	LLVMDisposeMessage(message);
	return ret;
}

struct compilation {
	struct units *units;
	const struct section *section;
	struct bound *bound;
	const struct request *req;
	enum compile_caution caution;
	LLVMTargetMachineRef machine;
	struct pgo_map *map;
	struct request_profile *inferred;
	struct halo_err *err;
};

static int run(const struct compilation *c, const char *passes)
{
	return run_passes(c->bound->module, c->machine, passes, &c->req->config, c->caution,
			  c->err);
}

/* What the source means and this program's code is, whatever the machine and the configuration. */
static int fix_meaning(const struct compilation *c)
{
	LLVMModuleRef module = c->bound->module;
	int ret;

	/* What nothing refers to must not cost time, nor a name. */
	ret = run(c, "globaldce,strip-dead-prototypes");
	if (ret)
		return ret;
	fp__widen_conversions(module);
	shifts__mask(module);
	if (c->req->fp != FP_EXACT)
		return 0;
	fp__keep_shipped_fma(module);
	fp__split_unoptimized(module);
	/* By this name the pass would end the process when it is not done after one round. */
	return fp__has_fmuladd(module)
		       ? run(c, "function(sroa,early-cse,instcombine<no-verify-fixpoint>)")
		       : 0;
}

static int count_or_use(const struct compilation *c)
{
	if (c->req->has_counters)
		return pgo__count(c->bound, c->section, c->req, c->machine, c->map, c->err);
	if (c->req->has_profile)
		return pgo__use(c->units, c->bound, c->section, &c->req->profile, c->machine,
				c->err);
	if (c->req->has_branches)
		return pgo__use_branches(c->units, c->bound, c->section, c->machine, c->inferred,
					 c->err);
	return 0;
}

static int run_pipeline(const struct compilation *c, LLVMModuleRef module)
{
	const struct request_config *config = &c->req->config;
	struct shim_tuning tuning = {
		.passes = config->passes,
		.vectorize = config->vectorize,
		.slp = config->slp && c->caution < CAUTION_SLP,
		.interleave = config->interleave,
		.unroll = config->unroll,
		.inline_threshold = config->inline_threshold,
	};

	if (!c->req->has_profile && !c->req->has_branches)
		return run_passes(module, c->machine, config->passes, config, c->caution, c->err);
	shim__split_cold(c->machine);
	shim__optimize(module, c->machine, &tuning);
	return 0;
}

/* -ENOTSUP: what the optimizer would make of some a * b + c is not what the shipped code has. */
static int check_rounding(const struct compilation *c)
{
	unsigned int rounds = 0;
	LLVMModuleRef copy;
	int ret;

	if (c->req->fp != FP_EXACT || !fp__has_fmuladd(c->bound->module))
		return 0;
	copy = LLVMCloneModule(c->bound->module);
	fp__hide_fmuladd(copy);
	do {
		ret = run_pipeline(c, copy);
	} while (!ret && fp__settle_hidden(copy) && ++rounds < ROUNDS_MAX);
	if (!ret && fp__has_foldable(copy))
		ret = halo_err__set(c->err, -ENOTSUP,
				    "a * b + c of constants may have been rounded otherwise in the "
				    "shipped code");
	LLVMDisposeModule(copy);
	return ret;
}

static int optimize(const struct compilation *c)
{
	LLVMModuleRef module = c->bound->module;
	int ret;

	ret = fix_meaning(c);
	if (!ret)
		ret = count_or_use(c);
	if (!ret)
		ret = attrs__apply(c->units->p, module, &c->req->config, c->err);
	if (!ret)
		ret = check_rounding(c);
	if (!ret)
		ret = run_pipeline(c, module);
	if (!ret && c->req->fp == FP_EXACT)
		fp__split_fmuladd(module);
	if (!ret)
		ret = landing__bind(c->bound, &c->units->words, c->units->p, c->err);
	if (!ret)
		ret = imports__read_got(c->bound, c->err);
	return ret ? ret : verify(module, c->err);
}

int compile__module(struct units *units, const struct section *section, struct bound *bound,
		    const struct request *req, enum compile_caution caution, struct pgo_map *map,
		    struct request_profile *inferred, LLVMMemoryBufferRef *object,
		    struct compile_times *times, struct halo_err *err)
{
	struct compilation c = {.units = units,
				.section = section,
				.bound = bound,
				.req = req,
				.caution = caution,
				.map = map,
				.inferred = inferred,
				.err = err};
	double start = compile__now(), optimized;
	int ret;

	set_caution(caution);
	ret = create_machine(req->config.level, &c.machine, err);
	if (ret)
		return ret;
	LLVMSetTarget(bound->module, TRIPLE);
	ret = optimize(&c);
	optimized = compile__now();
	if (!ret)
		ret = emit(bound->module, c.machine, object, err);
	if (!ret && units->errors)
		ret = halo_err__set(err, -ENOTSUP, "LLVM can't make an object of its assembly");
	times->optimize += optimized - start;
	times->emit += compile__now() - optimized;
	LLVMDisposeTargetMachine(c.machine);
	return ret;
}

int compile__assembly(const char *text, size_t len, LLVMMemoryBufferRef *object,
		      struct halo_err *err)
{
	LLVMContextRef ctx = LLVMContextCreate();
	LLVMModuleRef module = LLVMModuleCreateWithNameInContext("runtime", ctx);
	LLVMTargetMachineRef machine = NULL;
	int ret;

	LLVMSetTarget(module, TRIPLE);
	LLVMSetModuleInlineAsm2(module, text, len);
	ret = create_machine(2, &machine, err);
	if (!ret)
		ret = emit(module, machine, object, err);
	if (machine)
		LLVMDisposeTargetMachine(machine);
	LLVMDisposeModule(module);
	LLVMContextDispose(ctx);
	return ret;
}
