// SPDX-License-Identifier: BSD-2-Clause
/*
 * A loop that counts keeps its shape if its bound is brought nearer, so it is vectorized as before:
 *
 *	again:	limit = i before bound and farther than CHUNK steps ? i + CHUNK steps : bound
 *		while (i before limit) …
 *		if (i before bound) goto again
 */
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include "outline.hpp"

using namespace llvm;

namespace halo
{

static constexpr uint64_t CHUNK = 1U << 14; // iterations
static constexpr uint64_t MAX_STEP = 1U << 10;

// Running them once more, at the start of the next share, must change nothing.
static bool isPure(const BasicBlock &BB)
{
	for (const Instruction &I : BB)
		if (!I.isTerminator() && I.mayReadOrWriteMemory())
			return false;
	return true;
}

// The constant that each iteration adds to @phi.
static bool findStep(const Loop &L, PHINode *phi, APInt &step)
{
	auto *latch = L.getLoopLatch();
	auto *next = latch ? dyn_cast<Instruction>(phi->getIncomingValueForBlock(latch)) : nullptr;

	if (!next || next->getOperand(0) != phi || next->getNumOperands() != 2)
		return false;
	auto *by = dyn_cast<ConstantInt>(next->getOperand(1));
	if (!by)
		return false;
	if (next->getOpcode() == Instruction::Add)
		step = by->getValue();
	else if (next->getOpcode() == Instruction::Sub)
		step = -by->getValue();
	else
		return false;
	return !step.isZero() && step.abs().ule(MAX_STEP);
}

static bool leadsTo(CmpInst::Predicate pred, const APInt &step)
{
	switch (pred) {
	case CmpInst::ICMP_SLT:
	case CmpInst::ICMP_SLE:
	case CmpInst::ICMP_ULT:
	case CmpInst::ICMP_ULE:
		return step.isStrictlyPositive();
	case CmpInst::ICMP_SGT:
	case CmpInst::ICMP_SGE:
	case CmpInst::ICMP_UGT:
	case CmpInst::ICMP_UGE:
		return step.isNegative();
	case CmpInst::ICMP_NE:
		return step.abs().isOne();
	default:
		return false;
	}
}

static bool matches(const Loop &L, ICmpInst *test, unsigned bound, bool inverted, Counting &out)
{
	auto *phi = dyn_cast<PHINode>(test->getOperand(1 - bound));
	CmpInst::Predicate pred = bound ? test->getPredicate() : test->getSwappedPredicate();

	if (!phi || phi->getParent() != L.getHeader() || !phi->getType()->isIntegerTy() ||
	    phi->getType()->getIntegerBitWidth() < 32 ||
	    !L.isLoopInvariant(test->getOperand(bound)) || !findStep(L, phi, out.step))
		return false;
	out.variable = phi;
	out.test = test;
	out.boundOperand = bound;
	out.goesOn = inverted ? CmpInst::getInversePredicate(pred) : pred;
	return leadsTo(out.goesOn, out.step);
}

bool isCounting(const Loop &L, Counting &out)
{
	BasicBlock *header = L.getHeader();
	auto *end = dyn_cast<BranchInst>(header->getTerminator());

	if (L.getExitingBlock() != header || !L.getLoopPredecessor() || !end ||
	    !end->isConditional() || !isPure(*header))
		return false;
	auto *test = dyn_cast<ICmpInst>(end->getCondition());
	bool inverted = !L.contains(end->getSuccessor(0));
	return test && test->hasOneUse() &&
	       (matches(L, test, 1, inverted, out) || matches(L, test, 0, inverted, out));
}

static Value *limitFor(IRBuilder<> &B, const Counting &C, Value *from, Value *bound)
{
	bool up = !C.step.isNegative();
	auto *type = from->getType();
	Value *left = up ? B.CreateSub(bound, from) : B.CreateSub(from, bound);
	Value *far = B.CreateICmpUGT(left, ConstantInt::get(type, CHUNK * C.step.abs()));
	Value *before = B.CreateICmp(C.goesOn, from, bound);
	Value *near = B.CreateAdd(from, ConstantInt::get(type, CHUNK * C.step));

	return B.CreateSelect(B.CreateAnd(before, far), near, bound);
}

void chunkLoop(Loop &L, const Counting &C, BasicBlock *again, BasicBlock *entry)
{
	BasicBlock *header = L.getHeader(), *exit = L.getExitBlock();
	Value *bound = C.test->getOperand(C.boundOperand);
	BasicBlock *more = BasicBlock::Create(header->getContext(), "", header->getParent(), exit);
	IRBuilder<> B(entry->getTerminator());

	C.test->setOperand(C.boundOperand,
			   limitFor(B, C, C.variable->getIncomingValueForBlock(entry), bound));
	header->getTerminator()->replaceSuccessorWith(exit, more);
	exit->replacePhiUsesWith(header, more);
	B.SetInsertPoint(more);
	B.SetCurrentDebugLocation(header->getTerminator()->getDebugLoc());
	B.CreateCondBr(B.CreateICmp(C.goesOn, C.variable, bound), again, exit);
	for (PHINode &phi : again->phis())
		for (PHINode &of : header->phis())
			if (of.getIncomingValueForBlock(entry) == &phi)
				phi.addIncoming(&of, more);
}

} // namespace halo
