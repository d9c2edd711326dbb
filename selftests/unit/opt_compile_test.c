// SPDX-License-Identifier: BSD-2-Clause
/* Features, multiply-adds and relocations, on small pieces of IR. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <llvm-c/IRReader.h>

#include "attrs.h"
#include "compile.h"
#include "fp.h"
#include "imports.h"
#include "inspect.h"
#include "ir.h"
#include "literals.h"
#include "relocs.h"
#include "shifts.h"

static LLVMModuleRef parse(LLVMContextRef ctx, const char *text)
{
	char *message = NULL;
	LLVMModuleRef module = NULL;
	LLVMMemoryBufferRef buf;

	buf = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "test");
	if (LLVMParseIRInContext(ctx, buf, &module, &message))
		fail_msg("%s", message);
	return module;
}

static bool has(LLVMModuleRef module, const char *what)
{
	char *text = LLVMPrintModuleToString(module);
	bool found = strstr(text, what);

	LLVMDisposeMessage(text);
	return found;
}

static void check_merge(const char *own, const char *host, bool no_avx512, const char *expected)
{
	char *merged = attrs__merge_features(own, host, no_avx512);

	assert_string_equal(merged, expected);
	free(merged);
}

static void features_are_added(void **state)
{
	(void)state;
	check_merge("+sse2", "+avx,-xop,+fma", false, "+sse2,+avx,+fma");
	check_merge("", "+avx", false, "+avx");
	check_merge("+sse2", "", false, "+sse2");
	/* One that the shipped code has, and this CPU's list takes away. */
	check_merge("+xop", "-xop", false, "+xop");
	/* One that the source took away, and only that one. */
	check_merge("-avx,+sse2", "+avx,+avx2", false, "-avx,+sse2,+avx2");
	check_merge("+sse2", "+avx512f,+evex512,+avx2,+avx10.1-256", true, "+sse2,+avx2");
	assert_true(ir__has_feature("+sse2,+fma", "fma"));
	assert_false(ir__has_feature("+sse2,+fma4", "fma"));
	assert_false(ir__has_feature("+fma,-fma", "fma"));
	assert_false(ir__has_feature(NULL, "fma"));
}

static const char multiply_adds[] =
	"define double @apart(double %a) { %r = call double @llvm.fmuladd.f64(double %a, double %a,"
	" double %a) ret double %r }\n"
	"define <4 x float> @wide(<4 x float> %a) { %r = call <4 x float> @llvm.fmuladd.v4f32("
	"<4 x float> %a, <4 x float> %a, <4 x float> %a) ret <4 x float> %r }\n"
	"define double @fused(double %a) #0 { %r = call double @llvm.fmuladd.f64(double %a, double "
	"%a, double %a) ret double %r }\n"
	"declare double @llvm.fmuladd.f64(double, double, double)\n"
	"declare <4 x float> @llvm.fmuladd.v4f32(<4 x float>, <4 x float>, <4 x float>)\n"
	"attributes #0 = { \"target-features\"=\"+sse2,+fma\" }\n";

static void multiply_adds_round_as_shipped(void **state)
{
	LLVMContextRef ctx = LLVMContextCreate();
	LLVMModuleRef module = parse(ctx, multiply_adds);

	(void)state;
	fp__keep_shipped_fma(module);
	assert_true(has(module, "call double @llvm.fma.f64"));
	assert_true(has(module, "call double @llvm.fmuladd.f64"));
	fp__split_fmuladd(module);
	assert_false(has(module, "call double @llvm.fmuladd"));
	assert_false(has(module, "call <4 x float> @llvm.fmuladd"));
	assert_true(has(module, "fmul <4 x float>"));
	assert_true(has(module, "fadd double"));
	assert_true(has(module, "call double @llvm.fma.f64"));
	LLVMDisposeModule(module);
	LLVMContextDispose(ctx);
}

static const char constant_sums[] =
	"define double @same() { %a = call double @llvm.fmuladd.f64(double 1.0, double 1.0, double 4.0)"
	" ret double %a }\n"
	"define double @differs() { %a = call double @llvm.fmuladd.f64(double 0x3FB999999999999A,"
	" double 10.0, double -1.0) ret double %a }\n"
	"define float @narrow() { %a = call float @llvm.fmuladd.f32(float 0x3FB99999A0000000,"
	" float 10.0, float -1.0) ret float %a }\n"
	"declare double @llvm.fmuladd.f64(double, double, double)\n"
	"declare float @llvm.fmuladd.f32(float, float, float)\n";

/* What gives the same with one rounding as with two is the same whatever the shipped code did. */
static void equal_roundings_are_settled(void **state)
{
	LLVMContextRef ctx = LLVMContextCreate();
	LLVMModuleRef module = parse(ctx, constant_sums);

	(void)state;
	fp__hide_fmuladd(module);
	assert_true(fp__has_foldable(module));
	assert_true(fp__settle_hidden(module));
	assert_true(has(module, "ret double 5.0"));
	assert_true(has(module, "call double @llvm.experimental.constrained.fmuladd.f64("
				"double 1.000000e-01"));
	assert_true(has(module, "call float @llvm.experimental.constrained.fmuladd.f32("));
	assert_false(fp__settle_hidden(module));
	assert_true(fp__has_foldable(module));
	LLVMDisposeModule(module);
	LLVMContextDispose(ctx);
}

static const char conversions[] =
	"define i8 @byte(double %d) { %r = fptoui double %d to i8 ret i8 %r }\n"
	"define <4 x i16> @shorts(<4 x float> %f) { %r = fptosi <4 x float> %f to <4 x i16> "
	"ret <4 x i16> %r }\n"
	"define i32 @word(float %f) { %r = fptoui float %f to i32 ret i32 %r }\n"
	"define i32 @int(float %f) { %r = fptosi float %f to i32 ret i32 %r }\n"
	"define i64 @long(double %d) { %r = fptoui double %d to i64 ret i64 %r }\n"
	"define i32 @extended(x86_fp80 %d) { %r = fptoui x86_fp80 %d to i32 ret i32 %r }\n";

/* As the scalar instructions do it that shipped code has. */
static void conversions_wrap(void **state)
{
	LLVMContextRef ctx = LLVMContextCreate();
	LLVMModuleRef module = parse(ctx, conversions);

	(void)state;
	fp__widen_conversions(module);
	assert_true(has(module, "fptosi double %d to i32"));
	assert_true(has(module, "fptosi <4 x float> %f to <4 x i32>"));
	assert_true(has(module, "trunc <4 x i32>"));
	assert_true(has(module, "fptosi float %f to i64"));
	assert_true(has(module, "fptosi float %f to i32"));
	assert_true(has(module, "fptoui double %d to i64"));
	assert_true(has(module, "fptoui x86_fp80 %d to i32"));
	assert_false(has(module, "fptoui double %d to i8"));
	LLVMDisposeModule(module);
	LLVMContextDispose(ctx);
}

static const char shifts[] =
	"define i32 @variable(i32 %a, i32 %n) { %r = shl nuw i32 %a, %n ret i32 %r }\n"
	"define i64 @constant(i64 %a) { %r = lshr i64 %a, 7 ret i64 %r }\n"
	"define i8 @narrow(i8 %a, i8 %n) { %r = ashr i8 %a, %n ret i8 %r }\n";

static void amounts_of_shifts_wrap(void **state)
{
	LLVMContextRef ctx = LLVMContextCreate();
	LLVMModuleRef module = parse(ctx, shifts);

	(void)state;
	shifts__mask(module);
	assert_true(has(module, "and i32 %n, 31"));
	assert_true(has(module, "shl nuw i32 %a, %1"));
	assert_true(has(module, "lshr i64 %a, 7"));
	assert_true(has(module, "ashr i8 %a, %n"));
	LLVMDisposeModule(module);
	LLVMContextDispose(ctx);
}

static const char literals[] =
	"@l = private unnamed_addr constant [2 x i8] c\"a\\00\"\n"
	"@named = internal constant [2 x i8] c\"a\\00\"\n"
	"@kept = internal global ptr null\n"
	"declare void @take(ptr)\n"
	"define ptr @returned() { ret ptr @l }\n"
	"define void @stored() { store ptr @l, ptr @kept ret void }\n"
	"define i1 @compared(ptr %p) { %r = icmp eq ptr %p, @l ret i1 %r }\n"
	"define ptr @chosen(i1 %c) { %v = alloca ptr store ptr @l, ptr %v %r = load ptr, ptr %v "
	"%s = select i1 %c, ptr %r, ptr null ret ptr %s }\n"
	"define void @passed() { %v = alloca ptr store ptr @l, ptr %v %r = load ptr, ptr %v "
	"call void @take(ptr %r) ret void }\n"
	"define i8 @read() { %r = load i8, ptr @l ret i8 %r }\n"
	"define i1 @tested() { %r = icmp eq ptr @l, null ret i1 %r }\n"
	"define ptr @variable() { ret ptr @named }\n";

static void literals_that_are_kept(void **state)
{
	static const char *const kept[] = {"returned", "stored", "compared", "chosen"};
	static const char *const other[] = {"passed", "read", "tested", "variable"};
	LLVMContextRef ctx = LLVMContextCreate();
	LLVMModuleRef module = parse(ctx, literals);
	static const uint8_t constants[] = "ba\0c", twice[] = "b\0a\0a";
	struct halo_section section = {
		.name = ".rodata", .type = 1, .flags = 2, .data = constants, .size = 5};
	struct halo_segment segment = {.vaddr = 0x1000, .filesz = 16, .memsz = 16};
	struct halo_prepared p = {.map = constants, .segments = &segment, .n_segments = 1};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		assert_true(inspect__keeps_literal(&p, LLVMGetNamedFunction(module, kept[i])));
	for (i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		assert_false(inspect__keeps_literal(&p, LLVMGetNamedFunction(module, other[i])));
	/* The program has it at one place; then at two. */
	p.sections = &section;
	p.n_sections = 1;
	assert_int_equal(literals__find(&p, LLVMGetNamedGlobal(module, "l")).addr, 0x1001);
	assert_false(inspect__keeps_literal(&p, LLVMGetNamedFunction(module, "returned")));
	p.map = section.data = twice;
	section.size = sizeof(twice);
	assert_true(inspect__keeps_literal(&p, LLVMGetNamedFunction(module, "returned")));
	LLVMDisposeModule(module);
	LLVMContextDispose(ctx);
}

static int scan(const char *assembly, struct relocs *relocs)
{
	struct halo_err err = {0};
	LLVMMemoryBufferRef object = NULL;
	int ret;

	assert_int_equal(compile__assembly(assembly, strlen(assembly), &object, &err), 0);
	ret = relocs__scan(LLVMGetBufferStart(object), LLVMGetBufferSize(object), relocs, &err);
	assert_int_equal(ret, err.code);
	LLVMDisposeMemoryBuffer(object);
	return ret;
}

static void check_scan(const char *assembly, int expected)
{
	struct relocs relocs;

	assert_int_equal(scan(assembly, &relocs), expected);
	relocs__free(&relocs);
}

static void relocations(void **state)
{
	struct relocs relocs;

	(void)state;
	assert_int_equal(
		scan("call a\n movl b(%rip), %eax\n movl %fs:c@tpoff, %eax\n call a\n", &relocs),
		0);
	assert_int_equal(relocs.n_undefined, 3);
	relocs__free(&relocs);
	check_scan(".section .rodata\n .quad a\n", -EXDEV);
	check_scan("movq $a, %rax\n", -EXDEV);
	check_scan("movq a@GOTPCREL(%rip), %rax\n", -EXDEV);
	check_scan("movq a@GOTTPOFF(%rip), %rax\n", -EXDEV);
	check_scan(".section .rodata\n .long a - .\n", 0);
	check_scan(".data\n .long 5\n", -EXDEV);
	check_scan(".bss\n .zero 8\n", -EXDEV);
	/* Not loaded. */
	check_scan(".section .debug_x\n .quad a\n", 0);
}

static void broken_objects(void **state)
{
	static const char not_elf[64] = "!<arch>\n";
	struct halo_err err = {0};
	struct relocs relocs;

	(void)state;
	assert_true(relocs__scan(not_elf, sizeof(not_elf), &relocs, &err) < 0);
	relocs__free(&relocs);
}

static const char loops[] = "define void @two(i1 %c) {\n"
			    "entry: br label %outer\n"
			    "outer: br label %inner\n"
			    "inner: br i1 %c, label %inner, label %latch\n"
			    "latch: br i1 %c, label %outer, label %exit\n"
			    "exit: ret void }\n"
			    "define void @none(i1 %c) {\n"
			    "entry: br i1 %c, label %left, label %right\n"
			    "left: br label %exit\n"
			    "right: br label %exit\n"
			    "exit: ret void }\n";

static void loops_are_counted(void **state)
{
	LLVMContextRef ctx = LLVMContextCreate();
	LLVMModuleRef module = parse(ctx, loops);

	(void)state;
	assert_int_equal(inspect__loops(LLVMGetNamedFunction(module, "two")), 2);
	assert_int_equal(inspect__loops(LLVMGetNamedFunction(module, "none")), 0);
	LLVMDisposeModule(module);
	LLVMContextDispose(ctx);
}

static const char uses[] =
	"@data = external global [4 x i32]\n"
	"declare void @imported()\n"
	"declare void @take(ptr, i64, [2 x ptr])\n"
	"define ptr @f(i1 %c) {\n"
	"entry: br i1 %c, label %other, label %exit\n"
	"other: call void @imported()\n"
	"call void @take(ptr @imported, i64 ptrtoint (ptr getelementptr (i8, ptr @data, i64 8) to "
	"i64), [2 x ptr] [ptr null, ptr @imported])\n"
	"br label %exit\n"
	"exit: %p = phi ptr [ @imported, %entry ], [ null, %other ]\n"
	"ret ptr %p }\n";

static void enter(struct bound *bound, const char *name, uint64_t addr, bool lazy)
{
	struct place place = {.where = WHERE_IMPORT, .addr = addr, .lazy = lazy};

	assert_int_equal(symbols__add(&bound->symbols, name, place), 0);
}

static void addresses_of_imports(void **state)
{
	LLVMContextRef ctx = LLVMContextCreate();
	struct bound bound = {.module = parse(ctx, uses)};
	struct halo_err err = {0};

	(void)state;
	enter(&bound, "data", 0x1000, false);
	enter(&bound, "imported", 0x1008, false);
	assert_int_equal(imports__read_got(&bound, &err), 0);
	assert_true(has(bound.module, "call void @imported()"));
	assert_false(has(bound.module, "ptr @imported,"));
	assert_false(has(bound.module, "ptr @imported]"));
	assert_false(has(bound.module, "[ @imported,"));
	assert_false(has(bound.module, "ptr @data,"));
	assert_true(has(bound.module, "load ptr, ptr @imported.halo.got"));
	assert_true(has(bound.module, "load ptr, ptr @data.halo.got"));
	assert_int_equal(symbols__find(&bound.symbols, "data.halo.got")->place.addr, 0x1000);
	bound__free(&bound);

	bound.module = parse(ctx, uses);
	enter(&bound, "data", 0x1000, false);
	enter(&bound, "imported", 0x1008, true);
	assert_int_equal(imports__read_got(&bound, &err), -ENOTSUP);
	bound__free(&bound);
	LLVMContextDispose(ctx);
}

static int init(void **state)
{
	(void)state;
	compile__init();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(features_are_added),
		cmocka_unit_test(multiply_adds_round_as_shipped),
		cmocka_unit_test(equal_roundings_are_settled),
		cmocka_unit_test(conversions_wrap),
		cmocka_unit_test(amounts_of_shifts_wrap),
		cmocka_unit_test(literals_that_are_kept),
		cmocka_unit_test(relocations),
		cmocka_unit_test(broken_objects),
		cmocka_unit_test(loops_are_counted),
		cmocka_unit_test(addresses_of_imports),
	};

	return cmocka_run_group_tests(tests, init, NULL);
}
