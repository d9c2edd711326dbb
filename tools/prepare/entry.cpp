// SPDX-License-Identifier: BSD-2-Clause
// LLVM has no C entry for pass plugins: this hands the module to the C code behind prepare.h.
#include <llvm/IR/Comdat.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>

#include <memory>

#include "prepare.h"

using namespace llvm;

namespace
{
struct Step : PassInfoMixin<Step> {
	void (*run_c)(LLVMModuleRef, enum halo_phase, bool);
	enum halo_phase phase;
	bool o0;

	Step(void (*f)(LLVMModuleRef, enum halo_phase, bool), enum halo_phase p, bool is_o0)
		: run_c(f), phase(p), o0(is_o0)
	{
	}
	PreservedAnalyses run(Module &M, ModuleAnalysisManager &)
	{
		run_c(wrap(&M), phase, o0);
		return PreservedAnalyses::none();
	}
	static bool isRequired()
	{
		return true;
	}
};
} // namespace

static void addStart(ModulePassManager &MPM, OptimizationLevel Level, enum halo_phase phase)
{
	MPM.addPass(Step(halo_prepare__start, phase, Level == OptimizationLevel::O0));
}

static void addFinish(ModulePassManager &MPM, OptimizationLevel Level, enum halo_phase phase)
{
	bool O0 = Level == OptimizationLevel::O0;

	if (!O0) {
		MPM.addPass(Step(halo_prepare__unpin, phase, O0));
		MPM.addPass(GlobalDCEPass());
	}
	MPM.addPass(Step(halo_prepare__finish, phase, O0));
}

// Of the pipelines only those of a compilation have a start; what else there is runs at a link.
static void registerSteps(PassBuilder &PB)
{
	auto Phase = std::make_shared<enum halo_phase>(HALO_THIN_LINK);

	PB.registerPipelineStartEPCallback([=](ModulePassManager &MPM, OptimizationLevel Level) {
		*Phase = HALO_COMPILE;
		addStart(MPM, Level, *Phase);
	});
	PB.registerPipelineEarlySimplificationEPCallback(
		[=](ModulePassManager &MPM, OptimizationLevel Level) {
			if (*Phase == HALO_THIN_LINK)
				addStart(MPM, Level, *Phase);
		});
	PB.registerOptimizerLastEPCallback([=](ModulePassManager &MPM, OptimizationLevel Level) {
		addFinish(MPM, Level, *Phase);
	});
	PB.registerFullLinkTimeOptimizationEarlyEPCallback(
		[](ModulePassManager &MPM, OptimizationLevel Level) {
			addStart(MPM, Level, HALO_FULL_LINK);
		});
	PB.registerFullLinkTimeOptimizationLastEPCallback(
		[](ModulePassManager &MPM, OptimizationLevel Level) {
			addFinish(MPM, Level, HALO_FULL_LINK);
		});
	// Thin links at -O0 call back nowhere: --lto-newpm-passes names the whole of it.
	PB.registerPipelineParsingCallback([](StringRef Name, ModulePassManager &MPM,
					      ArrayRef<PassBuilder::PipelineElement>) {
		if (Name != "halo-thin-o0")
			return false;
		addStart(MPM, OptimizationLevel::O0, HALO_THIN_LINK);
		addFinish(MPM, OptimizationLevel::O0, HALO_THIN_LINK);
		return true;
	});
}

extern "C" const char *halo_comdat__name(LLVMComdatRef comdat, size_t *len)
{
	StringRef name = unwrap(comdat)->getName();
	*len = name.size();
	return name.data();
}

extern "C" __attribute__((visibility("default"))) PassPluginLibraryInfo llvmGetPassPluginInfo()
{
	return {LLVM_PLUGIN_API_VERSION, "halo-prepare", "1", registerSteps};
}
