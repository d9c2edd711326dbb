/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_PREPARE_OUTLINE_HPP
#define HALO_PREPARE_OUTLINE_HPP

/*
 * Loops that become functions of their own, so that code which a program enters once has a slot, too.
 * Such a function, NAME.loop.N, does a bounded share of the loop and says whether there is more:
 *
 *	do
 *		more = NAME.loop.1(state …);
 *	while (more);
 *
 * so that a switch takes effect within about a millisecond however long the loop runs. It happens
 * before the unit's bitcode is written: what is shipped and what is compiled from it have the same
 * functions. C++, since LLVM has none of the analyses behind it in C.
 */
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Function.h>

#include <halo/prepared.h>

namespace halo
{

enum Method {
	METERED,    // what was done is weighed, and looked at once an iteration
	DISPATCHED, // the same in an interpreter, by jumps of what it interprets
	CHUNKED,    // the bound of a counting loop is brought nearer; it may be vectorized still
};

struct Candidate {
	llvm::BasicBlock *header;
	Method method;
};

// A loop that is about to become a function.
struct Region {
	llvm::BasicBlock *entry;
	llvm::SmallVector<llvm::BasicBlock *, 32> blocks; // the entry first
};

// outline_choose.cpp: why no loop of @F can be, HALO_LOOPS_NONE when one may.
enum halo_loops refuseFunction(const llvm::Function &F);
// What is to be outlined, inner loops first. @why: of the last one that can't be.
llvm::SmallVector<Candidate, 4> chooseLoops(llvm::Function &F, llvm::DominatorTree &DT,
					    llvm::LoopInfo &LI, bool once, enum halo_loops *why);
// Functions that are entered once or seldom, in all likelihood, or start threads.
llvm::SmallVector<llvm::Function *, 8> enteredOnce(llvm::Module &M);

// outline_jumps.cpp: where an interpreter's loop jumps in what it interprets.
constexpr unsigned MIN_CASES = 10; // of its switch

struct Edge {
	llvm::BasicBlock *from, *to;
};
bool isDispatch(const llvm::Loop &L, const llvm::LoopInfo &LI);
llvm::SmallVector<Edge, 16> findJumps(const llvm::Loop &L);

// outline_chunk.cpp: a loop that counts up or down to a bound, in the shape that clang gives it.
struct Counting {
	llvm::PHINode *variable;
	llvm::ICmpInst *test; // of the header
	unsigned boundOperand;
	llvm::CmpInst::Predicate goesOn; // variable goesOn bound
	llvm::APInt step;		 // added, may be negative
};
bool isCounting(const llvm::Loop &L, Counting &out);

// outline_split.cpp, outline_chunk.cpp: give the loop its bounds. The analyses are stale then.
bool splitLoop(llvm::Function &F, const Candidate &C, Region &out);
void chunkLoop(llvm::Loop &L, const Counting &C, llvm::BasicBlock *again, llvm::BasicBlock *entry);

} // namespace halo

#endif
