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

#define TRIPLE "x86_64-pc-linux-gnu"

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

/* -ENOTSUP: what the optimizer would make of some a * b + c is not what the shipped code has. */
static int check_rounding(LLVMModuleRef module, LLVMTargetMachineRef machine,
			  const struct request *req, enum compile_caution caution,
			  struct halo_err *err)
{
	LLVMModuleRef copy = LLVMCloneModule(module);
	int ret;

	fp__hide_fmuladd(copy);
	ret = run_passes(copy, machine, req->config.passes, &req->config, caution, err);
	if (!ret && fp__has_foldable(copy))
		ret = halo_err__set(err, -ENOTSUP,
				    "a * b + c of constants may have been rounded otherwise in the "
				    "shipped code");
	LLVMDisposeModule(copy);
	return ret;
}

/* Each a * b + c is to be rounded as it was in the shipped code. */
static int keep_rounding(LLVMModuleRef module, LLVMTargetMachineRef machine,
			 const struct request *req, enum compile_caution caution,
			 struct halo_err *err)
{
	int ret;

	fp__keep_shipped_fma(module);
	fp__split_unoptimized(module);
	if (!fp__has_fmuladd(module))
		return 0;
	ret = run_passes(module, machine, "function(sroa,early-cse,instcombine)", &req->config,
			 caution, err);
	return ret ? ret : check_rounding(module, machine, req, caution, err);
}

static int optimize(const struct units *units, struct bound *bound, const struct request *req,
		    LLVMTargetMachineRef machine, enum compile_caution caution,
		    struct halo_err *err)
{
	int ret;

	/* What nothing refers to must not cost time, nor a name. */
	ret = run_passes(bound->module, machine, "globaldce,strip-dead-prototypes", &req->config,
			 caution, err);
	if (ret)
		return ret;
	fp__widen_conversions(bound->module);
	shifts__mask(bound->module);
	if (req->fp == FP_EXACT)
		ret = keep_rounding(bound->module, machine, req, caution, err);
	if (!ret)
		ret = attrs__apply(units->p, bound->module, &req->config, err);
	if (!ret)
		ret = run_passes(bound->module, machine, req->config.passes, &req->config, caution,
				 err);
	if (!ret && req->fp == FP_EXACT)
		fp__split_fmuladd(bound->module);
	if (!ret)
		ret = landing__bind(bound, &units->words, units->p, err);
	if (!ret)
		ret = imports__read_got(bound, err);
	return ret ? ret : verify(bound->module, err);
}

int compile__module(const struct units *units, struct bound *bound, const struct request *req,
		    enum compile_caution caution, LLVMMemoryBufferRef *object,
		    struct compile_times *times, struct halo_err *err)
{
	double start = compile__now(), optimized;
	LLVMTargetMachineRef machine = NULL;
	int ret;

	set_caution(caution);
	ret = create_machine(req->config.level, &machine, err);
	if (ret)
		return ret;
	LLVMSetTarget(bound->module, TRIPLE);
	ret = optimize(units, bound, req, machine, caution, err);
	optimized = compile__now();
	if (!ret)
		ret = emit(bound->module, machine, object, err);
	if (!ret && units->errors)
		ret = halo_err__set(err, -ENOTSUP, "LLVM can't make an object of its assembly");
	times->optimize += optimized - start;
	times->emit += compile__now() - optimized;
	LLVMDisposeTargetMachine(machine);
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
