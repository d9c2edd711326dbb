// SPDX-License-Identifier: BSD-2-Clause
/*
 * LLVM carries probes through its passes, makes no instruction of them, and lets them stand in next to
 * no pass's way. Also linked into the worker.
 */
#include <string.h>

#include "probes.h"

#define INTRINSIC   "llvm.pseudoprobe"
#define DESCRIPTION "llvm.pseudo_probe_desc" /* a module that has it writes rows */
#define WHOLE_SHARE UINT64_MAX /* of a block's count, that this copy of the probe stands for */
#define OURS	    1 /* attribute: LLVM has no use for it, and a build may have probes of its own */
#define FNV_BASIS   0xcbf29ce484222325ULL
#define FNV_PRIME   0x100000001b3ULL

struct prober {
	LLVMContextRef ctx;
	LLVMBuilderRef builder;
	LLVMValueRef intrinsic;
	LLVMTypeRef type;
	uint64_t function;
};

static uint64_t hash_byte(uint64_t hash, uint8_t byte)
{
	return (hash ^ byte) * FNV_PRIME;
}

/*
 * FNV-1a of the name; of a local function, whose name others may have, with the unit before it; and
 * of the number of blocks, since units may have other definitions of one inline function.
 */
static uint64_t function_id(LLVMValueRef func, uint64_t unit)
{
	LLVMLinkage linkage = LLVMGetLinkage(func);
	uint32_t n_blocks = LLVMCountBasicBlocks(func);
	uint64_t hash = FNV_BASIS;
	size_t len;
	const char *name = LLVMGetValueName2(func, &len);

	if (linkage == LLVMInternalLinkage || linkage == LLVMPrivateLinkage)
		for (int i = 0; i < 64; i += 8)
			hash = hash_byte(hash, unit >> i);
	for (size_t i = 0; i < len; i++)
		hash = hash_byte(hash, (uint8_t)name[i]);
	for (int i = 0; i < 32; i += 8)
		hash = hash_byte(hash, n_blocks >> i);
	return hash;
}

static bool has_attr(LLVMValueRef func, const char *attr)
{
	unsigned kind = LLVMGetEnumAttributeKindForName(attr, strlen(attr));

	return kind && LLVMGetEnumAttributeAtIndex(func, LLVMAttributeFunctionIndex, kind);
}

static bool is_probed(LLVMValueRef func)
{
	return !LLVMIsDeclaration(func) && !has_attr(func, "naked") &&
	       !has_attr(func, "presplitcoroutine");
}

static void put(const struct prober *p, LLVMValueRef before, uint64_t number)
{
	LLVMTypeRef i64 = LLVMInt64TypeInContext(p->ctx), i32 = LLVMInt32TypeInContext(p->ctx);
	LLVMValueRef args[] = {
		LLVMConstInt(i64, p->function, false),
		LLVMConstInt(i64, number, false),
		LLVMConstInt(i32, OURS, false),
		LLVMConstInt(i64, WHOLE_SHARE, false),
	};

	LLVMPositionBuilderBefore(p->builder, before);
	LLVMSetCurrentDebugLocation2(p->builder, NULL);
	LLVMBuildCall2(p->builder, p->type, p->intrinsic, args, 4, "");
}

static bool stays_first(LLVMValueRef inst)
{
	return LLVMIsAPHINode(inst) || LLVMIsALandingPadInst(inst) || LLVMIsAAllocaInst(inst);
}

static bool calls_a_pointer(LLVMValueRef inst)
{
	LLVMValueRef called;

	if (!LLVMIsACallInst(inst) && !LLVMIsAInvokeInst(inst))
		return false;
	called = LLVMGetCalledValue(inst);
	return !LLVMIsAConstant(called) && !LLVMIsAInlineAsm(called);
}

static void probe_function(const struct prober *p, LLVMValueRef func)
{
	uint64_t block = 0, call = HALO_PROBE_CALL;
	LLVMValueRef first;

	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(func); b; b = LLVMGetNextBasicBlock(b)) {
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
			if (calls_a_pointer(i))
				put(p, i, call++);
		first = LLVMGetFirstInstruction(b);
		while (stays_first(first))
			first = LLVMGetNextInstruction(first);
		put(p, first, block++);
	}
}

void halo_probes__insert(LLVMModuleRef ref, uint64_t unit)
{
	struct prober p = {.ctx = LLVMGetModuleContext(ref)};
	unsigned id = LLVMLookupIntrinsicID(INTRINSIC, strlen(INTRINSIC));

	p.type = LLVMIntrinsicGetType(p.ctx, id, NULL, 0);
	p.intrinsic = LLVMGetIntrinsicDeclaration(ref, id, NULL, 0);
	p.builder = LLVMCreateBuilderInContext(p.ctx);
	for (LLVMValueRef f = LLVMGetFirstFunction(ref); f; f = LLVMGetNextFunction(f)) {
		if (!is_probed(f))
			continue;
		p.function = function_id(f, unit);
		probe_function(&p, f);
	}
	LLVMDisposeBuilder(p.builder);
}

bool halo_probe__read(LLVMValueRef inst, uint64_t *function, uint64_t *number)
{
	static unsigned id;
	LLVMValueRef called;

	if (!LLVMIsACallInst(inst))
		return false;
	if (!id)
		id = LLVMLookupIntrinsicID(INTRINSIC, strlen(INTRINSIC));
	called = LLVMGetCalledValue(inst);
	if (!LLVMIsAFunction(called) || LLVMGetIntrinsicID(called) != id ||
	    LLVMConstIntGetZExtValue(LLVMGetOperand(inst, 2)) != OURS)
		return false;
	*function = LLVMConstIntGetZExtValue(LLVMGetOperand(inst, 0));
	*number = LLVMConstIntGetZExtValue(LLVMGetOperand(inst, 1));
	return true;
}

void halo_probes__remove(LLVMModuleRef ref)
{
	uint64_t function, number;
	LLVMValueRef next;

	for (LLVMValueRef f = LLVMGetFirstFunction(ref); f; f = LLVMGetNextFunction(f))
		for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
		     b = LLVMGetNextBasicBlock(b))
			for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = next) {
				next = LLVMGetNextInstruction(i);
				if (halo_probe__read(i, &function, &number))
					LLVMInstructionEraseFromParent(i);
			}
}

void halo_probes__finish(LLVMModuleRef ref)
{
	if (LLVMGetNamedMetadataNumOperands(ref, DESCRIPTION))
		halo_probes__remove(ref);
	else
		LLVMGetOrInsertNamedMetadata(ref, DESCRIPTION, strlen(DESCRIPTION));
}
