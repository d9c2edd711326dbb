// SPDX-License-Identifier: BSD-2-Clause
/*
 * An interpreter's loop has a switch with many cases, and a variable, where it is in what it
 * interprets, that most cases move on by a constant. Those that don't are jumps. Nothing that is
 * interpreted goes on for long without one, so it is enough to look at jumps, and other cases cost
 * nothing more.
 */
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Operator.h>

#include "outline.hpp"

using namespace llvm;

namespace halo
{

static constexpr unsigned MIN_STEPS = 4, MAX_JUMPS = 128;

struct Walk {
	const Loop &L;
	const PHINode *position;
	SmallPtrSet<const PHINode *, 16> seen;
	SmallVector<Edge, 16> jumps;
	unsigned steps = 0;
};

static Value *withoutConstants(Value *v)
{
	for (;;) {
		auto *I = dyn_cast<Instruction>(v);
		auto *GEP = dyn_cast<GEPOperator>(v);

		if (GEP && GEP->hasAllConstantIndices())
			v = GEP->getPointerOperand();
		else if (I && I->isCast())
			v = I->getOperand(0);
		else if (I && I->getOpcode() == Instruction::Add &&
			 isa<ConstantInt>(I->getOperand(1)))
			v = I->getOperand(0);
		else
			return v;
	}
}

static void walk(Walk &w, Value *value, BasicBlock *from, BasicBlock *to)
{
	Value *v = withoutConstants(value);
	auto *phi = dyn_cast<PHINode>(v);

	if (v == w.position) {
		w.steps++;
		return;
	}
	if (phi && w.L.contains(phi) && phi->getParent() != w.L.getHeader()) {
		if (w.seen.insert(phi).second)
			for (unsigned i = 0; i < phi->getNumIncomingValues(); i++)
				walk(w, phi->getIncomingValue(i), phi->getIncomingBlock(i),
				     phi->getParent());
		return;
	}
	// Of an edge of the switch itself nothing can be told apart.
	if (isa<BranchInst>(from->getTerminator()))
		w.jumps.push_back({from, to});
}

SmallVector<Edge, 16> findJumps(const Loop &L)
{
	for (PHINode &phi : L.getHeader()->phis()) {
		Walk w{L, &phi, {}, {}};

		for (unsigned i = 0; i < phi.getNumIncomingValues(); i++)
			if (L.contains(phi.getIncomingBlock(i)))
				walk(w, phi.getIncomingValue(i), phi.getIncomingBlock(i),
				     L.getHeader());
		if (w.steps >= MIN_STEPS && !w.jumps.empty() && w.jumps.size() <= MAX_JUMPS)
			return w.jumps;
	}
	return {};
}

static unsigned casesWithin(const SwitchInst &S, const Loop &L)
{
	SmallPtrSet<const BasicBlock *, 32> targets;

	for (auto &c : S.cases())
		if (L.contains(c.getCaseSuccessor()))
			targets.insert(c.getCaseSuccessor());
	return targets.size();
}

bool isDispatch(const Loop &L, const LoopInfo &LI)
{
	for (BasicBlock *BB : L.blocks()) {
		auto *S = dyn_cast<SwitchInst>(BB->getTerminator());

		if (S && LI.getLoopFor(BB) == &L && casesWithin(*S, L) >= MIN_CASES)
			return !findJumps(L).empty();
	}
	return false;
}

} // namespace halo
