/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_IR_H
#define OPT_IR_H

/* Walking LLVM's IR through its C interface. */
#include <stdbool.h>
#include <string.h>

#include <llvm-c/Core.h>

#define ir__for_each_function(fn, module) \
	for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn; fn = LLVMGetNextFunction(fn))
#define ir__for_each_block(block, fn)                                     \
	for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn); block; \
	     block = LLVMGetNextBasicBlock(block))
#define ir__for_each_inst(inst, block)                                 \
	for (LLVMValueRef inst = LLVMGetFirstInstruction(block); inst; \
	     inst = LLVMGetNextInstruction(inst))

/*
 * Call @visit with every function, variable or alias that constant @value refers to, itself
 * included. Stops at, and returns, the first result that is not 0; -ELOOP for a constant that is
 * nested too deeply.
 */
int ir__visit_globals(LLVMValueRef value, int (*visit)(LLVMValueRef global, void *ctx), void *ctx);

/* Whether a constant's bytes depend on where something lies. */
bool ir__holds_address(LLVMValueRef constant);

/* Whether nothing but llvm.used and its like refers to the constant. */
bool ir__is_kept_only(LLVMValueRef constant);

/* The function that @inst calls, NULL for no call or an indirect one. */
LLVMValueRef ir__callee(LLVMValueRef inst);

bool ir__has_attr(LLVMValueRef fn, const char *name);

/* Value of a function's string attribute, NUL-terminated as LLVM keeps it; NULL: not there. */
const char *ir__string_attr(LLVMValueRef fn, const char *name);
void ir__set_string_attr(LLVMValueRef fn, const char *name, const char *value);
void ir__remove_attr(LLVMValueRef fn, const char *name);

/* A function type with a vector that CPUs with other features pass otherwise. */
bool ir__has_wide_vector(LLVMTypeRef type);

/* A call of an intrinsic whose name begins with @prefix. */
bool ir__is_intrinsic(LLVMValueRef inst, const char *prefix);

/* Whether features has "+name", and not a "-name" after it. */
bool ir__has_feature(const char *features, const char *name);

#endif
