// SPDX-License-Identifier: BSD-2-Clause
/*
 * A loop gets bounds, and a way back into it:
 *
 *	again:	state = phi(what it began with, what it had when it was left)
 *	entry:	budget = BUDGET
 *	header:	…
 *	latch:	budget -= weight; if (budget <= 0) goto left
 *
 * entry to latch, and what leaves the loop, is the region that becomes a function. "again" stays
 * outside, and calls it until it was left for another reason.
 */
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LoopUtils.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include "outline.hpp"

using namespace llvm;

namespace halo
{

// In iterations of inner loops, about a nanosecond each; a share is some ten microseconds.
static constexpr int BUDGET = 1 << 14;
static constexpr int CALL_WEIGHT = 32;
static constexpr int JUMPS_BUDGET = 1 << 10; // of an interpreter

struct Meter {
	AllocaInst *budget;
	AllocaInst *due; // of an interpreter, else null
	IntegerType *type;
};

static Meter newMeter(Function &F, bool dispatched)
{
	auto *type = Type::getInt32Ty(F.getContext());
	IRBuilder<> B(&*F.getEntryBlock().getFirstInsertionPt());

	return {B.CreateAlloca(type), dispatched ? B.CreateAlloca(B.getInt1Ty()) : nullptr, type};
}

static Value *spend(IRBuilder<> &B, const Meter &m, int weight)
{
	Value *left = B.CreateSub(B.CreateLoad(m.type, m.budget), B.getInt32(weight));

	B.CreateStore(left, m.budget);
	return B.CreateICmpSLE(left, B.getInt32(0));
}

static int weightOf(const Loop &L, const LoopInfo &LI)
{
	int calls = 0, instructions = 0;

	for (const BasicBlock *BB : L.blocks()) {
		if (LI.getLoopFor(BB) != &L)
			continue;
		instructions += (int)BB->size();
		for (const Instruction &I : *BB)
			calls += isa<CallInst>(I) && !isa<IntrinsicInst>(I);
	}
	return std::min(1 + instructions / 16 + CALL_WEIGHT * calls, BUDGET / 16);
}

static void meterInner(const Loop &L, const LoopInfo &LI, const Meter &m)
{
	for (Loop *inner : L) {
		meterInner(*inner, LI, m);
		IRBuilder<> B(inner->getLoopLatch()->getTerminator());
		spend(B, m, weightOf(*inner, LI));
	}
}

// "again" and the entry, between the loop and what comes before.
static void addEntry(Loop &L, BasicBlock *&again, BasicBlock *&entry)
{
	BasicBlock *before = L.getLoopPreheader(), *header = L.getHeader();
	LLVMContext &ctx = header->getContext();

	again = BasicBlock::Create(ctx, "", header->getParent(), header);
	entry = BasicBlock::Create(ctx, "", header->getParent(), header);
	IRBuilder<> B(again);
	for (PHINode &phi : header->phis()) {
		PHINode *state = B.CreatePHI(phi.getType(), 2);

		state->addIncoming(phi.getIncomingValueForBlock(before), before);
		phi.setIncomingValueForBlock(before, state);
		phi.replaceIncomingBlockWith(before, entry);
	}
	before->getTerminator()->replaceSuccessorWith(header, again);
	B.CreateBr(entry);
	B.SetInsertPoint(entry);
	B.CreateBr(header);
}

// In the middle of the way back from the latch: look whether to leave. The block that does.
static BasicBlock *addCheck(Loop &L, BasicBlock *again, BasicBlock *entry, const Meter &m,
			    int weight)
{
	BasicBlock *latch = L.getLoopLatch(), *header = L.getHeader();
	Function *F = header->getParent();
	BasicBlock *check = BasicBlock::Create(F->getContext(), "", F, header);
	BasicBlock *leave = BasicBlock::Create(F->getContext(), "", F, header);
	DebugLoc where = latch->getTerminator()->getDebugLoc();
	IRBuilder<> B(leave);

	B.SetCurrentDebugLocation(where);
	B.CreateBr(again);
	for (PHINode &phi : header->phis()) {
		auto *state = cast<PHINode>(phi.getIncomingValueForBlock(entry));

		state->addIncoming(phi.getIncomingValueForBlock(latch), leave);
		phi.replaceIncomingBlockWith(latch, check);
	}
	latch->getTerminator()->replaceSuccessorWith(header, check);
	B.SetInsertPoint(check);
	B.SetCurrentDebugLocation(where);
	auto *end = B.CreateCondBr(m.due ? B.CreateLoad(B.getInt1Ty(), m.due) : spend(B, m, weight),
				   leave, header);
	end->setMetadata(LLVMContext::MD_loop,
			 latch->getTerminator()->getMetadata(LLVMContext::MD_loop));
	latch->getTerminator()->setMetadata(LLVMContext::MD_loop, nullptr);
	return check;
}

static void meterJumps(Loop &L, const Meter &m, const SmallVectorImpl<Edge> &jumps,
		       BasicBlock *check)
{
	for (const Edge &edge : jumps) {
		BasicBlock *to = edge.to == L.getHeader() ? check : edge.to;
		IRBuilder<> B(SplitEdge(edge.from, to)->getTerminator());

		B.CreateStore(spend(B, m, 1), m.due);
	}
	if (!m.due)
		return;
	IRBuilder<> B(&*L.getHeader()->getFirstInsertionPt());
	B.CreateStore(B.getFalse(), m.due);
}

static void meterLoop(Function &F, const Candidate &C)
{
	DominatorTree DT(F);
	LoopInfo LI(DT);
	AssumptionCache AC(F);
	Loop *L = LI.getLoopFor(C.header);
	bool dispatched = C.method == DISPATCHED;
	Meter m = newMeter(F, dispatched);
	SmallVector<Edge, 16> jumps;
	BasicBlock *again, *entry, *check;
	int weight = weightOf(*L, LI);

	if (dispatched)
		jumps = findJumps(*L);
	else
		meterInner(*L, LI, m);
	addEntry(*L, again, entry);
	IRBuilder<> B(entry->getTerminator());
	B.CreateStore(B.getInt32(dispatched ? JUMPS_BUDGET : BUDGET), m.budget);
	check = addCheck(*L, again, entry, m, weight);
	meterJumps(*L, m, jumps, check);
	SmallVector<AllocaInst *, 2> slots = {m.budget};
	if (m.due)
		slots.push_back(m.due);
	DominatorTree after(F);
	PromoteMemToReg(slots, after);
}

// What comes behind phis of an exit stays outside.
static void takeExit(BasicBlock *exit, DominatorTree &DT, LoopInfo &LI, Region &out)
{
	SplitBlock(exit, &*exit->getFirstNonPHIIt(), &DT, &LI);
	out.blocks.push_back(exit);
}

static void describe(Function &F, BasicBlock *header, Region &out)
{
	DominatorTree DT(F);
	LoopInfo LI(DT);
	Loop *L = LI.getLoopFor(header);
	SmallVector<BasicBlock *, 8> exits;

	formLCSSA(*L, DT, &LI, nullptr);
	for (BasicBlock *pred : predecessors(header))
		if (!L->contains(pred))
			out.entry = pred;
	L->getUniqueExitBlocks(exits);
	out.blocks.push_back(out.entry);
	out.blocks.append(L->block_begin(), L->block_end());
	for (BasicBlock *exit : exits)
		takeExit(exit, DT, LI, out);
}

// Preheaders, one latch each, exits of their own.
static bool simplify(Function &F, BasicBlock *header)
{
	DominatorTree DT(F);
	LoopInfo LI(DT);
	AssumptionCache AC(F);
	Loop *L = LI.getLoopFor(header);

	if (!L || L->getHeader() != header)
		return false;
	simplifyLoop(L, &DT, &LI, nullptr, &AC, nullptr, false);
	for (Loop *each : L->getLoopsInPreorder())
		if (!each->isLoopSimplifyForm())
			return false;
	return true;
}

static bool chunk(Function &F, BasicBlock *header)
{
	DominatorTree DT(F);
	LoopInfo LI(DT);
	Loop *L = LI.getLoopFor(header);
	BasicBlock *again, *entry;
	Counting counting;

	if (!isCounting(*L, counting))
		return false;
	addEntry(*L, again, entry);
	chunkLoop(*L, counting, again, entry);
	return true;
}

bool splitLoop(Function &F, const Candidate &C, Region &out)
{
	if (!simplify(F, C.header))
		return false;
	if (C.method != CHUNKED)
		meterLoop(F, C);
	else if (!chunk(F, C.header))
		return false;
	describe(F, C.header, out);
	return true;
}

} // namespace halo
