// SPDX-License-Identifier: BSD-2-Clause
/* What the pipeline makes of counts: which calls are inlined, and which branches are checked at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <llvm-c/IRReader.h>

#include "compile.h"
#include "ir.h"
#include "shim.h"

#define TRIPLE "x86_64-pc-linux-gnu"
#define STORES 120 /* too much to be inlined for nothing */

static const char summary[] = "!llvm.module.flags = !{!0}\n"
			      "!0 = !{i32 1, !\"ProfileSummary\", !1}\n"
			      "!1 = !{!2, !3, !4, !5, !6, !7, !8, !9}\n"
			      "!2 = !{!\"ProfileFormat\", !\"InstrProf\"}\n"
			      "!3 = !{!\"TotalCount\", i64 10000}\n"
			      "!4 = !{!\"MaxCount\", i64 1000}\n"
			      "!5 = !{!\"MaxInternalCount\", i64 1000}\n"
			      "!6 = !{!\"MaxFunctionCount\", i64 1000}\n"
			      "!7 = !{!\"NumCounts\", i64 3}\n"
			      "!8 = !{!\"NumFunctions\", i64 3}\n"
			      "!9 = !{!\"DetailedSummary\", !10}\n"
			      "!10 = !{!11, !12, !13}\n"
			      "!11 = !{i32 10000, i64 1000, i32 1}\n"
			      "!12 = !{i32 990000, i64 100, i32 1}\n"
			      "!13 = !{i32 999999, i64 1, i32 2}\n"
			      "!14 = !{!\"function_entry_count\", i64 1000}\n"
			      "!15 = !{!\"branch_weights\", i32 0, i32 1}\n"
			      "!16 = !{!\"function_entry_count\", i64 0}\n";

static LLVMModuleRef optimize(LLVMContextRef ctx, const char *text)
{
	struct shim_tuning tuning = {.passes = "default<O3>",
				     .vectorize = 1,
				     .slp = 1,
				     .interleave = 1,
				     .unroll = 1,
				     .inline_threshold = -1};
	LLVMTargetMachineRef machine;
	LLVMMemoryBufferRef buf;
	LLVMModuleRef module = NULL;
	LLVMTargetRef target;
	char *message = NULL;

	compile__init();
	assert_false(LLVMGetTargetFromTriple(TRIPLE, &target, &message));
	machine = LLVMCreateTargetMachine(target, TRIPLE, "x86-64", "", LLVMCodeGenLevelAggressive,
					  LLVMRelocPIC, LLVMCodeModelSmall);
	buf = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "test");
	if (LLVMParseIRInContext(ctx, buf, &module, &message))
		fail_msg("%s", message);
	LLVMSetTarget(module, TRIPLE);
	shim__optimize(module, machine, &tuning);
	LLVMDisposeTargetMachine(machine);
	return module;
}

static bool calls(LLVMModuleRef module, const char *from, const char *to)
{
	LLVMValueRef fn = LLVMGetNamedFunction(module, from);

	assert_non_null(fn);
	ir__for_each_block(block, fn)
	{
		ir__for_each_inst(inst, block)
		{
			if (LLVMIsACallInst(inst) && ir__callee(inst) &&
			    ir__callee(inst) == LLVMGetNamedFunction(module, to))
				return true;
		}
	}
	return false;
}

/* Two functions call a large one: with @counts, one often and one never. */
static char *large_callee(bool counts)
{
	const char *often = counts ? "!prof !14" : "", *never = counts ? "!prof !16" : "";
	size_t size;
	char *text;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	fprintf(f, "define internal void @large(ptr %%p) %s {\n", often);
	for (int i = 0; i < STORES; i++)
		fprintf(f, "\tstore volatile i32 %d, ptr %%p\n", i);
	fprintf(f, "\tret void\n}\n");
	fprintf(f, "define void @often(ptr %%p) %s { call void @large(ptr %%p) ret void }\n",
		often);
	fprintf(f, "define void @never(ptr %%p) %s { call void @large(ptr %%p) ret void }\n%s",
		never, counts ? summary : "");
	fclose(f);
	return text;
}

static void frequent_calls_are_inlined(void **state)
{
	LLVMContextRef ctx = LLVMContextCreate();
	char *with = large_callee(true), *without = large_callee(false);
	LLVMModuleRef module = optimize(ctx, with);

	(void)state;
	assert_false(calls(module, "often", "large"));
	assert_true(calls(module, "never", "large"));
	LLVMDisposeModule(module);
	module = optimize(ctx, without);
	assert_true(calls(module, "often", "large"));
	LLVMDisposeModule(module);
	LLVMContextDispose(ctx);
	free(with);
	free(without);
}

/* Two branches that nearly always go the same way. */
#define BRANCHES(function_counts, branch_counts)                          \
	"declare void @something()\n"                                     \
	"define void @branchy(ptr %i) " function_counts " {\n"            \
	"entry:\n"                                                        \
	"	%v = load i32, ptr %i\n"                                        \
	"	%a = and i32 %v, 1\n"                                           \
	"	%first = icmp eq i32 %a, 0\n"                                   \
	"	br i1 %first, label %next, label %one" branch_counts "\n" \
	"one:\n"                                                          \
	"	call void @something()\n"                                       \
	"	br label %next\n"                                               \
	"next:\n"                                                         \
	"	%b = and i32 %v, 2\n"                                           \
	"	%second = icmp eq i32 %b, 0\n"                                  \
	"	br i1 %second, label %end, label %two" branch_counts "\n" \
	"two:\n"                                                          \
	"	call void @something()\n"                                       \
	"	br label %end\n"                                                \
	"end:\n"                                                          \
	"	ret void\n"                                                     \
	"}\n"

static bool has(LLVMModuleRef module, const char *what)
{
	char *text = LLVMPrintModuleToString(module);
	bool found = strstr(text, what);

	LLVMDisposeMessage(text);
	return found;
}

/* Control-height reduction: one check for both, and the code for when it fails apart. */
static void biased_branches_are_checked_at_once(void **state)
{
	LLVMContextRef ctx = LLVMContextCreate();
	size_t size = sizeof(BRANCHES("!prof !14", ", !prof !15")) + sizeof(summary);
	char *text = malloc(size);
	LLVMModuleRef module;

	(void)state;
	assert_non_null(text);
	snprintf(text, size, "%s%s", BRANCHES("!prof !14", ", !prof !15"), summary);
	module = optimize(ctx, text);
	assert_true(has(module, "nonchr"));
	assert_true(has(module, ", 3\n"));
	LLVMDisposeModule(module);
	module = optimize(ctx, BRANCHES("", ""));
	assert_false(has(module, "nonchr"));
	LLVMDisposeModule(module);
	LLVMContextDispose(ctx);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frequent_calls_are_inlined),
		cmocka_unit_test(biased_branches_are_checked_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
