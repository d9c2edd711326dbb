// SPDX-License-Identifier: BSD-2-Clause
// LLVM has no C entry for pass plugins: this hands the module to the C code behind prepare.h.
#include <llvm/IR/Comdat.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>

#include "prepare.h"

using namespace llvm;

namespace
{
struct Step : PassInfoMixin<Step> {
	void (*run_c)(LLVMModuleRef);

	explicit Step(void (*f)(LLVMModuleRef)) : run_c(f)
	{
	}
	PreservedAnalyses run(Module &M, ModuleAnalysisManager &)
	{
		run_c(wrap(&M));
		return PreservedAnalyses::none();
	}
	static bool isRequired()
	{
		return true;
	}
};
} // namespace

static void registerSteps(PassBuilder &PB)
{
	PB.registerPipelineStartEPCallback([](ModulePassManager &MPM, OptimizationLevel) {
		MPM.addPass(Step(halo_prepare__start));
	});
	PB.registerOptimizerLastEPCallback([](ModulePassManager &MPM, OptimizationLevel Level) {
		bool O0 = Level == OptimizationLevel::O0;
		if (!O0) {
			MPM.addPass(Step(halo_prepare__unpin));
			MPM.addPass(GlobalDCEPass());
		}
		MPM.addPass(Step(O0 ? halo_prepare__finish_o0 : halo_prepare__finish));
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
