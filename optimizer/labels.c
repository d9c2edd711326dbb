// SPDX-License-Identifier: BSD-2-Clause
#include <stdbool.h>

#include "ir.h"
#include "labels.h"
#include "resolve.h"

#define DEPTH_MAX  16
#define VALUES_MAX 1024
#define TABLES_MAX 32
#define COPIED_NAME \
	"halo.labels" /* the program has none of this name: it becomes the image's own */

/* What one function does with its labels. */
struct flow {
	LLVMValueRef fn;
	LLVMValueRef made[VALUES_MAX]; /* of labels; local variables that hold such, too */
	LLVMValueRef table[TABLES_MAX];
	size_t n_made, n_tables;
	bool lost; /* some go where they can't be followed */
};

static bool contains(const LLVMValueRef *list, size_t n, LLVMValueRef value)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (list[i] == value)
			return true;
	return false;
}

static void add(LLVMValueRef *list, size_t *n, size_t max, LLVMValueRef value, bool *full)
{
	if (contains(list, *n, value))
		return;
	if (*n == max)
		*full = true;
	else
		list[(*n)++] = value;
}

static void add_made(struct flow *f, LLVMValueRef value)
{
	add(f->made, &f->n_made, VALUES_MAX, value, &f->lost);
}

static bool is_gep(LLVMValueRef value)
{
	return LLVMIsAGetElementPtrInst(value) ||
	       (LLVMIsAConstantExpr(value) && LLVMGetConstOpcode(value) == LLVMGetElementPtr);
}

/* The variable that the address leads into. */
static LLVMValueRef variable_of(LLVMValueRef address)
{
	int depth;

	for (depth = 0; depth < DEPTH_MAX && is_gep(address); depth++)
		address = LLVMGetOperand(address, 0);
	return address;
}

static bool is_in(const struct flow *f, LLVMValueRef value)
{
	return LLVMIsAInstruction(value) &&
	       LLVMGetBasicBlockParent(LLVMGetInstructionParent(value)) == f->fn;
}

static bool is_copy(LLVMValueRef inst)
{
	return ir__is_intrinsic(inst, "llvm.memcpy.");
}

/* Keeps @value, made of labels, where @address leads. */
static void follow_store(struct flow *f, LLVMValueRef address)
{
	LLVMValueRef var = variable_of(address);

	if (LLVMIsAAllocaInst(var))
		add_made(f, var);
	else
		f->lost = true;
}

static bool is_equality(LLVMValueRef inst)
{
	return LLVMGetICmpPredicate(inst) == LLVMIntEQ || LLVMGetICmpPredicate(inst) == LLVMIntNE;
}

/* Sums and differences of labels are as good as labels: numbers have them too. */
static void follow_inst(struct flow *f, LLVMValueRef inst, LLVMValueRef value)
{
	switch (LLVMGetInstructionOpcode(inst)) {
	case LLVMIndirectBr:
		break;
	case LLVMPHI:
	case LLVMSelect:
	case LLVMFreeze:
	case LLVMGetElementPtr:
	case LLVMAdd:
	case LLVMSub:
	case LLVMPtrToInt:
	case LLVMIntToPtr:
	case LLVMSExt:
	case LLVMZExt:
	case LLVMTrunc:
		add_made(f, inst);
		break;
	case LLVMICmp:
		f->lost |= !is_equality(inst);
		break;
	case LLVMStore:
		if (LLVMGetOperand(inst, 0) == value)
			follow_store(f, LLVMGetOperand(inst, 1));
		else
			f->lost = true;
		break;
	default:
		f->lost = true;
	}
}

/* What is read through the address of a table or local variable. */
static void follow_address(struct flow *f, LLVMValueRef address, int depth)
{
	LLVMUseRef use;
	LLVMValueRef user;

	if (depth == DEPTH_MAX)
		f->lost = true;
	for (use = LLVMGetFirstUse(address); use && !f->lost; use = LLVMGetNextUse(use)) {
		user = LLVMGetUser(use);
		if (is_gep(user))
			follow_address(f, user, depth + 1);
		else if (LLVMIsAConstant(user))
			f->lost |= !ir__is_kept_only(user);
		else if (!is_in(f, user))
			f->lost = true;
		else if (LLVMIsALoadInst(user))
			add_made(f, user);
		else if (is_copy(user) && LLVMGetOperand(user, 1) == address)
			follow_store(f, LLVMGetOperand(user, 0));
		else if (LLVMIsAGlobalVariable(variable_of(address)))
			f->lost = true;
		else if (LLVMIsAStoreInst(user))
			f->lost |= LLVMGetOperand(user, 0) == address;
		else
			f->lost |= !is_copy(user) && !ir__is_intrinsic(user, "llvm.memset.") &&
				   !ir__is_intrinsic(user, "llvm.lifetime.");
	}
}

static void follow_table(struct flow *f, LLVMValueRef var)
{
	if (contains(f->table, f->n_tables, var))
		return;
	add(f->table, &f->n_tables, TABLES_MAX, var, &f->lost);
	if (!resolve__is_local(var) || LLVMIsThreadLocal(var))
		f->lost = true;
	follow_address(f, var, 0);
}

/* From a label, or a constant with labels in it. */
static void follow_constant(struct flow *f, LLVMValueRef value, int depth)
{
	LLVMUseRef use;
	LLVMValueRef user;

	if (depth == DEPTH_MAX)
		f->lost = true;
	for (use = LLVMGetFirstUse(value); use && !f->lost; use = LLVMGetNextUse(use)) {
		user = LLVMGetUser(use);
		if (LLVMIsAGlobalVariable(user))
			follow_table(f, user);
		else if (LLVMIsAConstant(user))
			follow_constant(f, user, depth + 1);
		else if (is_in(f, user))
			follow_inst(f, user, value);
		else
			f->lost = true;
	}
}

static void follow_made(struct flow *f)
{
	LLVMUseRef use;
	size_t i;

	for (i = 0; i < f->n_made; i++) {
		if (LLVMIsAAllocaInst(f->made[i])) {
			follow_address(f, f->made[i], 0);
			continue;
		}
		for (use = LLVMGetFirstUse(f->made[i]); use && !f->lost; use = LLVMGetNextUse(use))
			follow_inst(f, LLVMGetUser(use), f->made[i]);
	}
}

static bool is_made(const struct flow *f, LLVMValueRef value)
{
	return LLVMIsAConstant(value) || contains(f->made, f->n_made, value);
}

/* Only labels are kept there. */
static bool holds_labels(const struct flow *f, LLVMValueRef address, int depth)
{
	LLVMUseRef use;
	LLVMValueRef user;
	bool ok = depth < DEPTH_MAX;

	for (use = LLVMGetFirstUse(address); use && ok; use = LLVMGetNextUse(use)) {
		user = LLVMGetUser(use);
		if (is_gep(user))
			ok = holds_labels(f, user, depth + 1);
		else if (LLVMIsAStoreInst(user))
			ok = is_made(f, LLVMGetOperand(user, 0));
		else if (is_copy(user) && LLVMGetOperand(user, 0) == address)
			ok = contains(f->table, f->n_tables, variable_of(LLVMGetOperand(user, 1)));
	}
	return ok;
}

/* Nothing else than labels comes together with them. */
static bool is_pure(const struct flow *f, LLVMValueRef value)
{
	unsigned int i, n;
	LLVMValueRef var;

	if (LLVMIsAPHINode(value)) {
		n = LLVMCountIncoming(value);
		for (i = 0; i < n; i++)
			if (!is_made(f, LLVMGetIncomingValue(value, i)))
				return false;
	} else if (LLVMIsASelectInst(value)) {
		return is_made(f, LLVMGetOperand(value, 1)) && is_made(f, LLVMGetOperand(value, 2));
	} else if (LLVMIsALoadInst(value)) {
		var = variable_of(LLVMGetOperand(value, 0));
		return contains(f->table, f->n_tables, var) ||
		       (contains(f->made, f->n_made, var) && LLVMIsAAllocaInst(var));
	} else if (LLVMIsAAllocaInst(value)) {
		return holds_labels(f, value, 0);
	}
	return true;
}

static bool is_understood(const struct flow *f)
{
	size_t i;

	if (f->lost)
		return false;
	for (i = 0; i < f->n_made; i++)
		if (!is_pure(f, f->made[i]))
			return false;
	ir__for_each_block(block, f->fn)
	{
		LLVMValueRef jump = LLVMGetBasicBlockTerminator(block);

		if (jump && LLVMIsAIndirectBrInst(jump) && !is_made(f, LLVMGetOperand(jump, 0)))
			return false;
	}
	return true;
}

/* A switch leads to each block once, so there may be no phi that tells two ways apart. */
static bool may_be_case(LLVMBasicBlockRef block)
{
	LLVMValueRef first = LLVMGetFirstInstruction(block);

	return first && !LLVMIsAPHINode(first);
}

static bool has_jumps(LLVMValueRef fn)
{
	bool found = false;

	ir__for_each_block(block, fn)
	{
		LLVMValueRef jump = LLVMGetBasicBlockTerminator(block);
		unsigned int i, n;

		if (!jump || !LLVMIsAIndirectBrInst(jump))
			continue;
		found = true;
		n = LLVMGetNumSuccessors(jump);
		for (i = 0; i < n; i++)
			if (!may_be_case(LLVMGetSuccessor(jump, i)))
				return false;
	}
	return found;
}

static bool is_jumped_to(LLVMBasicBlockRef block, LLVMValueRef fn)
{
	ir__for_each_block(from, fn)
	{
		LLVMValueRef jump = LLVMGetBasicBlockTerminator(from);
		unsigned int i,
			n = jump && LLVMIsAIndirectBrInst(jump) ? LLVMGetNumSuccessors(jump) : 0;

		for (i = 0; i < n; i++)
			if (LLVMGetSuccessor(jump, i) == block)
				return true;
	}
	return false;
}

/* The label of the n-th block is n, from 1 on. */
static LLVMValueRef number(LLVMContextRef ctx, unsigned int n)
{
	return LLVMConstInt(LLVMInt64TypeInContext(ctx), n, 0);
}

static void lower_jump(LLVMBuilderRef builder, LLVMValueRef fn, LLVMValueRef jump)
{
	LLVMContextRef ctx = LLVMGetModuleContext(LLVMGetGlobalParent(fn));
	LLVMBasicBlockRef never = LLVMAppendBasicBlockInContext(ctx, fn, ""), to;
	unsigned int i, count = LLVMGetNumSuccessors(jump), n = 0;
	LLVMValueRef label, by;

	LLVMPositionBuilderBefore(builder, jump);
	label = LLVMBuildPtrToInt(builder, LLVMGetOperand(jump, 0), LLVMInt64TypeInContext(ctx),
				  "");
	by = LLVMBuildSwitch(builder, label, never, count);
	ir__for_each_block(block, fn)
	{
		n++;
		for (i = 0; i < count; i++) {
			to = LLVMGetSuccessor(jump, i);
			if (to == block) {
				LLVMAddCase(by, number(ctx, n), to);
				break;
			}
		}
	}
	LLVMInstructionEraseFromParent(jump);
	LLVMPositionBuilderAtEnd(builder, never);
	LLVMBuildUnreachable(builder);
}

static void replace_labels(struct flow *f)
{
	LLVMContextRef ctx = LLVMGetModuleContext(LLVMGetGlobalParent(f->fn));
	LLVMTypeRef ptr = LLVMPointerTypeInContext(ctx, 0);
	unsigned int n = 0;
	size_t i;

	ir__for_each_block(block, f->fn)
	{
		n++;
		if (is_jumped_to(block, f->fn))
			LLVMReplaceAllUsesWith(LLVMBlockAddress(f->fn, block),
					       LLVMConstIntToPtr(number(ctx, n), ptr));
	}
	for (i = 0; i < f->n_tables; i++) {
		LLVMSetValueName2(f->table[i], COPIED_NAME, sizeof(COPIED_NAME) - 1);
		LLVMSetLinkage(f->table[i], LLVMPrivateLinkage);
		LLVMSetGlobalConstant(f->table[i], 1);
	}
}

static void lower(struct flow *f)
{
	LLVMContextRef ctx = LLVMGetModuleContext(LLVMGetGlobalParent(f->fn));
	LLVMBuilderRef builder = LLVMCreateBuilderInContext(ctx);

	replace_labels(f);
	/* Blocks are appended, which does not change the numbers of the others. */
	ir__for_each_block(block, f->fn)
	{
		LLVMValueRef jump = LLVMGetBasicBlockTerminator(block);

		if (jump && LLVMIsAIndirectBrInst(jump))
			lower_jump(builder, f->fn, jump);
	}
	LLVMDisposeBuilder(builder);
}

static void lower_function(LLVMValueRef fn)
{
	struct flow f = {.fn = fn};

	ir__for_each_block(block, fn)
	{
		if (is_jumped_to(block, fn))
			follow_constant(&f, LLVMBlockAddress(fn, block), 0);
	}
	follow_made(&f);
	if (is_understood(&f))
		lower(&f);
}

void labels__lower(LLVMModuleRef module)
{
	ir__for_each_function(fn, module)
	{
		if (has_jumps(fn))
			lower_function(fn);
	}
}
