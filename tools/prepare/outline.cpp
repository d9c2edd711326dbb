// SPDX-License-Identifier: BSD-2-Clause
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/CaptureTracking.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Utils/CodeExtractor.h>
#include <llvm/Transforms/Utils/Local.h>

#include "outline.hpp"
#include "prepare.h"

using namespace llvm;
using namespace halo;

namespace
{

// Variables that outlive a share of the loop must not move into the function that does it.
class Pins
{
	SmallVector<CallInst *, 8> calls;

      public:
	Pins(Function &F, const Region &R)
	{
		SmallPtrSet<const BasicBlock *, 32> within(R.blocks.begin(), R.blocks.end());
		FunctionCallee pin = F.getParent()->getOrInsertFunction(
			"halo.pin", FunctionType::get(Type::getVoidTy(F.getContext()), true));
		IRBuilder<> B(F.getEntryBlock().getTerminator());

		for (Instruction &I : instructions(F))
			if (isa<AllocaInst>(I) && !livesWithin(I, within))
				calls.push_back(B.CreateCall(pin, {&I}));
	}
	~Pins()
	{
		Function *pin = calls.empty() ? nullptr : calls[0]->getCalledFunction();

		for (CallInst *call : calls)
			call->eraseFromParent();
		if (pin)
			pin->eraseFromParent();
	}

      private:
	static bool livesWithin(const Instruction &variable,
				const SmallPtrSetImpl<const BasicBlock *> &within)
	{
		bool starts = false;

		for (const User *user : variable.users()) {
			auto *I = dyn_cast<IntrinsicInst>(user);

			if (!I || !I->isLifetimeStartOrEnd())
				continue;
			if (!within.contains(I->getParent()))
				return false;
			starts |= I->getIntrinsicID() == Intrinsic::lifetime_start;
		}
		return starts;
	}
};

} // namespace

// SSA values can be handed over one by one; variables in memory would have to stay there.
static void promote(Function &F)
{
	LoopAnalysisManager LAM;
	FunctionAnalysisManager FAM;
	CGSCCAnalysisManager CAM;
	ModuleAnalysisManager MAM;
	PassBuilder PB;

	PB.registerModuleAnalyses(MAM);
	PB.registerCGSCCAnalyses(CAM);
	PB.registerFunctionAnalyses(FAM);
	PB.registerLoopAnalyses(LAM);
	PB.crossRegisterProxies(LAM, FAM, CAM, MAM);
	removeUnreachableBlocks(F);
	SROAPass(SROAOptions::ModifyCFG).run(F, FAM);
}

// Variables that are reached by their own name alone, and by what is made of it here.
static SmallPtrSet<const Value *, 8> privateVariables(const Function &F)
{
	SmallPtrSet<const Value *, 8> found;

	for (const Instruction &I : instructions(F))
		if (isa<AllocaInst>(I) && !PointerMayBeCaptured(&I, true, true))
			found.insert(&I);
	return found;
}

static bool isReachedTwice(const SetVector<Value *> &inputs, const Value *variable)
{
	for (const Value *other : inputs)
		if (other != variable && other->getType()->isPointerTy() &&
		    getUnderlyingObject(other, 0) == variable)
			return true;
	return false;
}

// So that the part is optimized as it would have been in its place.
static void describeVariable(Function &part, unsigned i, const AllocaInst &variable)
{
	LLVMContext &ctx = part.getContext();
	auto size = variable.getAllocationSize(part.getParent()->getDataLayout());

	part.addParamAttr(i, Attribute::NoAlias);
	part.addParamAttr(i, Attribute::NoCapture);
	part.addParamAttr(i, Attribute::getWithAlignment(ctx, variable.getAlign()));
	if (size && !size->isScalable())
		part.addDereferenceableParamAttr(i, size->getFixedValue());
}

static void describe(Function &part)
{
	part.setLinkage(GlobalValue::InternalLinkage);
	part.removeFnAttr(Attribute::AlwaysInline);
	part.removeFnAttr(Attribute::InlineHint);
	part.addFnAttr(Attribute::NoInline);
	part.addFnAttr(HALO_LOOP_ATTR);
}

static bool outlineLoop(Function &F, const Candidate &candidate, unsigned number)
{
	Region region;

	if (!splitLoop(F, candidate, region))
		return false;
	auto own = privateVariables(F);
	Pins pins(F, region);
	DominatorTree DT(F);
	CodeExtractorAnalysisCache cache(F);
	CodeExtractor extractor(region.blocks, &DT, false, nullptr, nullptr, nullptr, false, false,
				nullptr, (HALO_LOOP_INFIX + 1) + utostr(number));
	SetVector<Value *> inputs, outputs;
	Function *part = extractor.isEligible()
				 ? extractor.extractCodeRegion(cache, inputs, outputs)
				 : nullptr;
	if (!part)
		return false;
	describe(*part);
	for (unsigned i = 0; i < inputs.size(); i++)
		if (own.contains(inputs[i]) && !isReachedTwice(inputs, inputs[i]))
			describeVariable(*part, i, *cast<AllocaInst>(inputs[i]));
	for (unsigned i = inputs.size(); i < part->arg_size(); i++) {
		part->addParamAttr(i, Attribute::NoAlias);
		part->addParamAttr(i, Attribute::NoCapture);
	}
	return true;
}

static bool mayInterpret(const Function &F)
{
	return any_of(F, [](const BasicBlock &BB) {
		return BB.getTerminator()->getNumSuccessors() > MIN_CASES;
	});
}

// Only interpreters have as many.
static bool hasManyLabels(const Function &F)
{
	return any_of(F, [](const BasicBlock &BB) {
		return isa<IndirectBrInst>(BB.getTerminator()) &&
		       BB.getTerminator()->getNumSuccessors() >= MIN_CASES;
	});
}

static bool hasLoops(const Function &F)
{
	DominatorTree DT(const_cast<Function &>(F));
	LoopInfo LI(DT);

	return !LI.empty();
}

static enum halo_loops outlineLoops(Function &F, bool once)
{
	enum halo_loops why = refuseFunction(F);
	unsigned number = 0;

	if (why || !hasLoops(F))
		return hasLoops(F) && once ? why : HALO_LOOPS_NONE;
	if (!once && hasManyLabels(F))
		return HALO_LOOPS_LABELS;
	promote(F);
	DominatorTree DT(F);
	LoopInfo LI(DT);
	for (const Candidate &candidate : chooseLoops(F, DT, LI, once, &why)) {
		if (outlineLoop(F, candidate, number + 1))
			number++;
		else
			why = HALO_LOOPS_SHAPE;
	}
	return number ? HALO_LOOPS_OUTLINED : why;
}

static void outlineIn(Function &F, bool once)
{
	enum halo_loops result = F.isDeclaration() ? HALO_LOOPS_NONE : outlineLoops(F, once);

	if (result)
		F.addFnAttr(HALO_LOOPS_ATTR, utostr(result));
}

extern "C" void halo_outline__run(LLVMModuleRef ref)
{
	Module &M = *unwrap(ref);
	auto once = enteredOnce(M);
	SmallVector<Function *, 8> others;

	for (Function &F : M)
		if (mayInterpret(F) && !is_contained(once, &F))
			others.push_back(&F);
	for (Function *F : once)
		outlineIn(*F, true);
	for (Function *F : others)
		outlineIn(*F, false);
}
