// SPDX-License-Identifier: BSD-2-Clause
// Which loops become functions.
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include "outline.hpp"
extern "C" {
#include "unit.h"
}

using namespace llvm;

namespace halo
{

// Iterations of a whole nest below which it is work of a moment, and likely to be unrolled.
static constexpr uint64_t FEW_ITERATIONS = 512;

static bool isSanitized(const Function &F)
{
	return F.hasFnAttribute(Attribute::SanitizeAddress) ||
	       F.hasFnAttribute(Attribute::SanitizeThread) ||
	       F.hasFnAttribute(Attribute::SanitizeMemory) ||
	       F.hasFnAttribute(Attribute::SanitizeHWAddress) ||
	       halo_func__is_instrumented(wrap(const_cast<Function *>(&F)));
}

enum halo_loops refuseFunction(const Function &F)
{
	if (F.isDeclaration() || !(F.hasExternalLinkage() || F.hasLocalLinkage()) ||
	    F.hasOptNone() || F.hasFnAttribute(Attribute::Naked) || F.isPresplitCoroutine() ||
	    F.hasSection())
		return HALO_LOOPS_SHAPE;
	if (isSanitized(F))
		return HALO_LOOPS_INSTRUMENTED;
	if (F.callsFunctionThatReturnsTwice())
		return HALO_LOOPS_RETURNS_TWICE;
	return HALO_LOOPS_NONE;
}

static enum halo_loops refuseIntrinsic(const IntrinsicInst &I)
{
	switch (I.getIntrinsicID()) {
	case Intrinsic::vastart:
	case Intrinsic::vaend:
	case Intrinsic::vacopy:
		return HALO_LOOPS_VARARGS;
	case Intrinsic::stacksave:
	case Intrinsic::stackrestore:
		return HALO_LOOPS_STACK;
	case Intrinsic::frameaddress:
	case Intrinsic::returnaddress:
	case Intrinsic::addressofreturnaddress:
	case Intrinsic::sponentry:
	case Intrinsic::localescape:
	case Intrinsic::localrecover:
		return HALO_LOOPS_FRAME;
	default:
		return I.getType()->isTokenTy() ? HALO_LOOPS_SHAPE : HALO_LOOPS_NONE;
	}
}

static enum halo_loops refuseInstruction(const Instruction &I)
{
	if (auto *Intrinsic = dyn_cast<IntrinsicInst>(&I))
		return refuseIntrinsic(*Intrinsic);
	if (isa<AllocaInst>(I))
		return HALO_LOOPS_STACK;
	if (isa<VAArgInst>(I))
		return HALO_LOOPS_VARARGS;
	if (isa<InvokeInst>(I) || I.isEHPad() || isa<ResumeInst>(I))
		return HALO_LOOPS_EXCEPTIONS;
	if (isa<IndirectBrInst>(I))
		return HALO_LOOPS_LABELS;
	if (isa<CallBrInst>(I))
		return HALO_LOOPS_ASSEMBLY;
	if (auto *Call = dyn_cast<CallInst>(&I))
		return Call->isMustTailCall() ? HALO_LOOPS_SHAPE : HALO_LOOPS_NONE;
	return HALO_LOOPS_NONE;
}

static enum halo_loops refuseLoop(const Loop &L)
{
	for (const BasicBlock *BB : L.blocks()) {
		if (BB->hasAddressTaken())
			return HALO_LOOPS_LABELS;
		for (const Instruction &I : *BB)
			if (enum halo_loops why = refuseInstruction(I))
				return why;
	}
	SmallVector<BasicBlock *, 8> exits;
	L.getExitBlocks(exits);
	for (const BasicBlock *BB : exits)
		if (BB->isEHPad())
			return HALO_LOOPS_EXCEPTIONS;
	return HALO_LOOPS_NONE;
}

static bool calls(const Loop &L)
{
	for (const BasicBlock *BB : L.blocks())
		for (const Instruction &I : *BB)
			if (isa<CallInst>(I) && !isa<IntrinsicInst>(I))
				return true;
	return false;
}

static unsigned height(const Loop &L)
{
	unsigned most = 0;

	for (const Loop *inner : L)
		most = std::max(most, height(*inner));
	return most + 1;
}

// How often the innermost body runs, or UINT64_MAX if that is not plain to see.
static uint64_t iterations(const Loop &L)
{
	Counting c;
	uint64_t most = 1;

	if (!isCounting(L, c))
		return UINT64_MAX;
	auto *bound = dyn_cast<ConstantInt>(c.test->getOperand(c.boundOperand));
	auto *init =
		dyn_cast<ConstantInt>(c.variable->getIncomingValueForBlock(L.getLoopPredecessor()));
	if (!bound || !init)
		return UINT64_MAX;
	uint64_t n = (bound->getValue() - init->getValue()).abs().getLimitedValue(1U << 16) /
		     c.step.abs().getLimitedValue();
	for (const Loop *inner : L)
		most = std::max(most, iterations(*inner));
	return most == UINT64_MAX ? most : n * most;
}

// A plain loop may be vectorized, which one that is left in the middle can't be.
static bool isPlain(const Loop &L)
{
	return L.isInnermost() && !calls(L) && L.getExitingBlock();
}

static void consider(Loop &L, LoopInfo &LI, SmallVectorImpl<Candidate> &list, enum halo_loops *why)
{
	enum halo_loops refusal = refuseLoop(L);
	Counting c;

	if (refusal || iterations(L) <= FEW_ITERATIONS) {
		*why = refusal ?: HALO_LOOPS_SMALL;
		return;
	}
	if (isDispatch(L, LI))
		list.push_back({L.getHeader(), DISPATCHED});
	else if (!isPlain(L))
		list.push_back({L.getHeader(), METERED});
	else if (isCounting(L, c))
		list.push_back({L.getHeader(), CHUNKED});
	else
		*why = HALO_LOOPS_SMALL;
}

static void chooseOnce(LoopInfo &LI, SmallVectorImpl<Candidate> &list, enum halo_loops *why)
{
	for (Loop *L : reverse(LI)) {
		for (Loop *inner : reverse(*L))
			if (height(*inner) > 1)
				consider(*inner, LI, list, why);
		consider(*L, LI, list, why);
	}
}

SmallVector<Candidate, 4> chooseLoops(Function &F, DominatorTree &DT, LoopInfo &LI, bool once,
				      enum halo_loops *why)
{
	SmallVector<Candidate, 4> list;

	if (once) {
		chooseOnce(LI, list, why);
		return list;
	}
	for (Loop *L : LI.getLoopsInPreorder()) {
		if (!isDispatch(*L, LI))
			continue;
		*why = refuseLoop(*L);
		if (!*why)
			list.push_back({L->getHeader(), DISPATCHED});
	}
	return list;
}

static Function *threadStart(CallBase &call)
{
	Function *callee = call.getCalledFunction();

	if (!callee)
		return nullptr;
	if (callee->getName() == "pthread_create" && call.arg_size() == 4)
		return dyn_cast<Function>(call.getArgOperand(2)->stripPointerCasts());
	if (callee->getName() == "thrd_create" && call.arg_size() == 3)
		return dyn_cast<Function>(call.getArgOperand(1)->stripPointerCasts());
	return nullptr;
}

// Called by one instruction of the unit, which is not in a loop. Its own labels are uses, too.
static bool isCalledOnce(CallBase &call, LoopInfo &LI)
{
	Function *callee = call.getCalledFunction();

	if (!callee || callee->isDeclaration() || LI.getLoopFor(call.getParent()))
		return false;
	return count_if(callee->users(), [](User *u) { return !isa<BlockAddress>(u); }) == 1;
}

SmallVector<Function *, 8> enteredOnce(Module &M)
{
	SmallSetVector<Function *, 8> list;

	if (Function *main = M.getFunction("main"))
		list.insert(main);
	for (Function &F : M)
		for (Instruction &I : instructions(F))
			if (auto *call = dyn_cast<CallBase>(&I))
				if (Function *start = threadStart(*call))
					list.insert(start);
	for (size_t i = 0; i < list.size(); i++) {
		if (list[i]->isDeclaration())
			continue;
		DominatorTree DT(*list[i]);
		LoopInfo LI(DT);
		for (Instruction &I : instructions(*list[i]))
			if (auto *call = dyn_cast<CallBase>(&I))
				if (isCalledOnce(*call, LI))
					list.insert(call->getCalledFunction());
	}
	return SmallVector<Function *, 8>(list.begin(), list.end());
}

} // namespace halo
