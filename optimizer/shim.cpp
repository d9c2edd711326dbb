// SPDX-License-Identifier: BSD-2-Clause
#include "shim.h"

#include <cerrno>

#include <llvm/Analysis/InlineCost.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/ProfileData/InstrProf.h>
#include <llvm/ProfileData/InstrProfWriter.h>
#include <llvm/Support/PGOOptions.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/IPO/Inliner.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Instrumentation/PGOInstrumentation.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LowerExpectIntrinsic.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/SampleProfileInference.h>

using namespace llvm;

namespace
{

// As clang has them for the inliner that runs before counters are placed.
constexpr int PREINLINE_THRESHOLD = 75;
constexpr int PREINLINE_HINT = 325;

// Where the profile is in a file system that has nothing else.
constexpr const char *PROFILE_PATH = "/profile";

struct Passes {
	PassBuilder builder;
	LoopAnalysisManager loop;
	FunctionAnalysisManager function;
	CGSCCAnalysisManager cgscc;
	ModuleAnalysisManager module;

	Passes(LLVMTargetMachineRef machine, const PipelineTuningOptions &tuning = {},
	       std::optional<PGOOptions> pgo = std::nullopt)
	    : builder(reinterpret_cast<TargetMachine *>(machine), tuning, std::move(pgo))
	{
		builder.registerModuleAnalyses(module);
		builder.registerCGSCCAnalyses(cgscc);
		builder.registerFunctionAnalyses(function);
		builder.registerLoopAnalyses(loop);
		builder.crossRegisterProxies(loop, function, cgscc, module);
	}
};

// Counts warnings that a function's code is not what was counted.
struct Mismatches : DiagnosticHandler {
	unsigned int &count;

	explicit Mismatches(unsigned int &n) : count(n)
	{
	}
	bool handleDiagnostics(const DiagnosticInfo &info) override
	{
		count += info.getKind() == DK_PGOProfile;
		return true;
	}
};

std::unique_ptr<MemoryBuffer> write_profile(const shim_record *records, size_t n)
{
	InstrProfWriter writer;
	bool failed = false;
	auto warn = [&](Error e) {
		failed = true;
		consumeError(std::move(e));
	};

	if (Error e = writer.mergeProfileKind(InstrProfKind::IRInstrumentation)) {
		consumeError(std::move(e));
		return nullptr;
	}
	for (size_t i = 0; i < n; i++) {
		const shim_record &r = records[i];
		NamedInstrProfRecord record(r.name, r.hash,
					    std::vector<uint64_t>(r.counts, r.counts + r.n_counts));
		uint32_t sites[IPVK_Last + 1] = {}, next[IPVK_Last + 1] = {};

		for (size_t s = 0; s < r.n_sites; s++)
			sites[r.sites[s].kind]++;
		for (uint32_t kind = IPVK_First; kind <= IPVK_Last; kind++)
			record.reserveSites(kind, sites[kind]);
		for (size_t s = 0; s < r.n_sites; s++) {
			const shim_site &site = r.sites[s];
			SmallVector<InstrProfValueData> data;

			for (size_t v = 0; v < site.n_values; v++)
				data.push_back({site.values[v].value, site.values[v].count});
			record.addValueData(site.kind, next[site.kind]++, data, nullptr);
		}
		writer.addRecord(std::move(record), warn);
	}
	return failed ? nullptr : writer.writeBuffer();
}

} // namespace

void shim__preinline(LLVMModuleRef ref, LLVMTargetMachineRef machine)
{
	Passes passes(machine);
	InlineParams params = getInlineParams(PREINLINE_THRESHOLD);
	FunctionPassManager tidy;
	ModulePassManager all;
	FunctionPassManager early;

	early.addPass(LowerExpectIntrinsicPass());
	early.addPass(SimplifyCFGPass());
	early.addPass(SROAPass(SROAOptions::ModifyCFG));
	early.addPass(EarlyCSEPass());
	all.addPass(createModuleToFunctionPassAdaptor(std::move(early)));
	params.HintThreshold = PREINLINE_HINT;
	ModuleInlinerWrapperPass inliner(
		params, /*MandatoryFirst=*/true,
		InlineContext{ThinOrFullLTOPhase::None, InlinePass::EarlyInliner});
	tidy.addPass(SROAPass(SROAOptions::ModifyCFG));
	tidy.addPass(EarlyCSEPass());
	tidy.addPass(SimplifyCFGPass(SimplifyCFGOptions().convertSwitchRangeToICmp(true)));
	tidy.addPass(InstCombinePass());
	inliner.getPM().addPass(createCGSCCToFunctionPassAdaptor(std::move(tidy)));
	all.addPass(std::move(inliner));
	all.addPass(GlobalDCEPass());
	all.run(*unwrap(ref), passes.module);
}

void shim__count(LLVMModuleRef ref, LLVMTargetMachineRef machine)
{
	Passes passes(machine);
	ModulePassManager all;

	all.addPass(PGOInstrumentationGen());
	all.run(*unwrap(ref), passes.module);
}

uint64_t shim__function_id(LLVMValueRef fn)
{
	return IndexedInstrProf::ComputeHash(getIRPGOFuncName(*unwrap<Function>(fn)));
}

int shim__use_counts(LLVMModuleRef ref, LLVMTargetMachineRef machine, const shim_record *records,
		     size_t n, unsigned int *mismatched)
{
	std::unique_ptr<MemoryBuffer> profile = write_profile(records, n);
	LLVMContext &context = unwrap(ref)->getContext();
	Passes passes(machine);
	ModulePassManager all;

	*mismatched = 0;
	if (!profile)
		return -EINVAL;
	auto files = makeIntrusiveRefCnt<vfs::InMemoryFileSystem>();
	files->addFile(PROFILE_PATH, 0, std::move(profile));
	all.addPass(PGOInstrumentationUse(PROFILE_PATH, "", false, files));
	all.addPass(PGOIndirectCallPromotion());
	std::unique_ptr<DiagnosticHandler> old = context.getDiagnosticHandler();
	context.setDiagnosticHandler(std::make_unique<Mismatches>(*mismatched));
	all.run(*unwrap(ref), passes.module);
	context.setDiagnosticHandler(std::move(old));
	return 0;
}

void shim__infer_flow(uint64_t *counts, size_t n, const shim_jump *jumps, size_t n_jumps)
{
	FlowFunction flow;

	flow.Blocks.resize(n);
	flow.Jumps.resize(n_jumps);
	for (size_t i = 0; i < n; i++) {
		flow.Blocks[i].Index = i;
		flow.Blocks[i].HasUnknownWeight = counts[i] == UINT64_MAX;
		flow.Blocks[i].Weight = flow.Blocks[i].HasUnknownWeight ? 0 : counts[i];
	}
	// What is entered never has no flow at all.
	if (!flow.Blocks[0].Weight && !flow.Blocks[0].HasUnknownWeight)
		flow.Blocks[0].Weight = 1;
	for (size_t i = 0; i < n_jumps; i++) {
		flow.Jumps[i].Source = jumps[i].from;
		flow.Jumps[i].Target = jumps[i].to;
		flow.Blocks[jumps[i].from].SuccJumps.push_back(&flow.Jumps[i]);
		flow.Blocks[jumps[i].to].PredJumps.push_back(&flow.Jumps[i]);
	}
	applyFlowInference(flow);
	for (size_t i = 0; i < n; i++)
		counts[i] = flow.Blocks[i].Flow;
}

static OptimizationLevel level_of(StringRef passes)
{
	if (passes == "default<O1>")
		return OptimizationLevel::O1;
	if (passes == "default<O2>")
		return OptimizationLevel::O2;
	return passes == "default<Os>" ? OptimizationLevel::Os : OptimizationLevel::O3;
}

void shim__split_cold(LLVMTargetMachineRef machine)
{
	reinterpret_cast<TargetMachine *>(machine)->Options.EnableMachineFunctionSplitter = true;
}

void shim__optimize(LLVMModuleRef ref, LLVMTargetMachineRef machine, const shim_tuning *wanted)
{
	PipelineTuningOptions tuning;
	// The profile is in the module: this is the half of the pipeline that comes behind its reading.
	PGOOptions pgo(PROFILE_PATH, "", "", "", makeIntrusiveRefCnt<vfs::InMemoryFileSystem>(),
		       PGOOptions::IRUse);

	tuning.LoopInterleaving = wanted->interleave;
	tuning.LoopVectorization = wanted->vectorize;
	tuning.LoopUnrolling = wanted->unroll;
	tuning.SLPVectorization = wanted->slp;
	if (wanted->inline_threshold >= 0)
		tuning.InlinerThreshold = wanted->inline_threshold;
	// For linkers that order functions.
	tuning.CallGraphProfile = false;
	Passes passes(machine, tuning, pgo);
	passes.builder.buildThinLTODefaultPipeline(level_of(wanted->passes), nullptr)
		.run(*unwrap(ref), passes.module);
}
