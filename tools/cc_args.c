// SPDX-License-Identifier: BSD-2-Clause
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cc_args.h"
#include "util.h"

#define DEFAULT_LD "/usr/bin/ld"

/* Options whose value is the next argument, which is thus no input. */
static const char *const takes_value[] = {
	"-o",
	"-I",
	"-D",
	"-U",
	"-L",
	"-l",
	"-x",
	"-u",
	"-z",
	"-e",
	"-T",
	"-B",
	"-F",
	"-G",
	"-A",
	"-h",
	"-include",
	"-imacros",
	"-isystem",
	"-iquote",
	"-idirafter",
	"-iprefix",
	"-isysroot",
	"-iwithprefix",
	"-iwithprefixbefore",
	"-isystem-after",
	"-imultilib",
	"-MF",
	"-MT",
	"-MQ",
	"-MJ",
	"-Xlinker",
	"-Xclang",
	"-Xpreprocessor",
	"-Xassembler",
	"-Xanalyzer",
	"-mllvm",
	"-target",
	"-arch",
	"-rpath",
	"-dumpbase",
	"-dumpdir",
	"-framework",
	"--param",
	"--sysroot",
	"-working-directory",
	"-gcc-toolchain",
	"--config",
};

/* Outputs that are not of the linker. */
static const char *const stops_early[] = {
	"-c",
	"-S",
	"-E",
	"-M",
	"-MM",
	"-fsyntax-only",
	"-emit-ast",
	"--analyze",
	"--precompile",
	"-emit-interface-stubs",
	"-emit-llvm",
	"--preprocess",
	"--assemble",
	"--compile",
	"-rewrite-objc",
};

/* Instrumentation that depends on how functions begin, or on what memory they touch. */
static const char *const bad_sanitizers[] = {"thread", "memory", "dataflow", "hwaddress", "cfi"};

static bool is_one_of(const char *arg, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(arg, list[i]))
			return true;
	return false;
}

static bool starts(const char *arg, const char *prefix)
{
	return !strncmp(arg, prefix, strlen(prefix));
}

static void unprepare(struct cc_args *args, const char *why)
{
	if (!args->unprepared)
		args->unprepared = why;
}

static void unstub(struct cc_args *args, const char *why)
{
	if (!args->unstubbed)
		args->unstubbed = why;
}

static bool is_lld(const char *path)
{
	return strstr(path, "lld");
}

/* What a plain "ld" is: clang looks no further than its name. */
static bool default_is_lld(void)
{
	char path[PATH_MAX];

	return realpath(DEFAULT_LD, path) && is_lld(path);
}

static void scan_linker_option(struct cc_args *args, const char *opt)
{
	if (starts(opt, "--build-id") || starts(opt, "-build-id"))
		args->has_build_id = true;
	else if (!strcmp(opt, "-r") || !strcmp(opt, "-i") || !strcmp(opt, "--relocatable"))
		args->relocatable = true;
	else if (!strcmp(opt, "-shared") || !strcmp(opt, "--shared") || !strcmp(opt, "-Bshareable"))
		args->shared = true;
	else if (starts(opt, "-T") && !starts(opt, "-Ttext") && !starts(opt, "-Tdata") &&
		 !starts(opt, "-Tbss"))
		unstub(args, "linked by a script of its own");
	else if (starts(opt, "--script"))
		unstub(args, "linked by a script of its own");
	else if (!strcmp(opt, "--gc-sections"))
		args->gc_sections = true;
	else if (!strcmp(opt, "--no-gc-sections"))
		args->gc_sections = false;
	else if (!strcmp(opt, "--lto-O0") || !strcmp(opt, "-plugin-opt=O0"))
		args->lto_o0 = true;
	else if (starts(opt, "--lto-partitions") || starts(opt, "-plugin-opt=lto-partitions"))
		args->unentered =
			"the linker splits code after it was optimized (--lto-partitions)";
	else if (starts(opt, "--lto-newpm-passes"))
		args->unentered = "the passes at link time are of the program's own choice";
	else if (starts(opt, "--oformat"))
		unstub(args, "the output is no ELF file");
}

static void scan_linker_list(struct cc_args *args, const char *list)
{
	char opt[64];

	while (*list) {
		size_t len = strcspn(list, ",");

		snprintf(opt, sizeof(opt), "%.*s", (int)len, list);
		scan_linker_option(args, opt);
		list += len + (list[len] == ',');
	}
}

static void scan_sanitizers(struct cc_args *args, const char *list)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad_sanitizers); i++)
		if (strstr(list, bad_sanitizers[i])) {
			unprepare(args, "this sanitizer's instrumentation must run");
			unstub(args, "this sanitizer's instrumentation must run");
		}
}

static void scan_target(struct cc_args *args, const char *triple)
{
	if (!strstr(triple, "gnu"))
		args->own_unwinding = true;
	if (starts(triple, "x86_64") && strstr(triple, "linux") && !strstr(triple, "gnux32"))
		return;
	unprepare(args, "not for 64-bit x86 Linux");
	unstub(args, "not for 64-bit x86 Linux");
}

static void scan_mode(struct cc_args *args, const char *arg)
{
	if (is_one_of(arg, stops_early, ARRAY_SIZE(stops_early)))
		args->links = false;
	if (!strcmp(arg, "-shared") || !strcmp(arg, "--shared"))
		args->shared = true;
	if (!strcmp(arg, "-r"))
		args->relocatable = true;
	if (!strcmp(arg, "-static") || !strcmp(arg, "--static") || !strcmp(arg, "-static-pie") ||
	    !strcmp(arg, "--static-pie"))
		args->own_unwinding = true;
	if (!strcmp(arg, "-###"))
		args->dry_run = true;
	if (!strcmp(arg, "-emit-llvm"))
		unprepare(args, "the output is LLVM IR");
	if (!strcmp(arg, "-m32") || !strcmp(arg, "-mx32") || !strcmp(arg, "-m16"))
		scan_target(args, "other");
}

static void scan_contents(struct cc_args *args, const char *arg)
{
	if (!strcmp(arg, "-ffreestanding") || !strcmp(arg, "-mkernel")) {
		unprepare(args, "freestanding code may run before it is relocated");
		unstub(args, "freestanding");
	} else if (!strcmp(arg, "-nostdlib") || !strcmp(arg, "-nostartfiles")) {
		unstub(args, "linked without the C library's start files");
	} else if (starts(arg, "-fsanitize=")) {
		scan_sanitizers(args, arg);
	} else if (starts(arg, "--target=")) {
		scan_target(args, arg + strlen("--target="));
	} else if (starts(arg, "--sysroot=")) {
		args->own_unwinding = true;
	} else if (starts(arg, "-Wl,")) {
		scan_linker_list(args, arg + strlen("-Wl,"));
	} else if (starts(arg, "-fuse-ld=") || starts(arg, "--ld-path=")) {
		args->lld = is_lld(strchr(arg, '=') + 1);
		args->gold = strstr(strchr(arg, '=') + 1, "gold");
	} else if (starts(arg, "-O")) {
		args->lto_o0 = !strcmp(arg, "-O0");
	} else if (starts(arg, "-T") && arg[2]) {
		scan_linker_option(args, arg);
	} else if (starts(arg, "-o")) {
		args->output = arg + 2;
	}
}

static void scan_value(struct cc_args *args, const char *option, const char *value)
{
	if (!strcmp(option, "-o"))
		args->output = value;
	else if (!strcmp(option, "-l"))
		args->has_input = true;
	else if (!strcmp(option, "-Xlinker"))
		scan_linker_option(args, value);
	else if (!strcmp(option, "-target"))
		scan_target(args, value);
	else if (!strcmp(option, "--sysroot"))
		args->own_unwinding = true;
	else if (!strcmp(option, "-T"))
		unstub(args, "linked by a script of its own");
}

static bool is_header(const char *path)
{
	static const char *const suffixes[] = {".h", ".hh", ".hpp", ".hxx", ".H"};
	const char *dot = strrchr(path, '.');

	return dot && is_one_of(dot, suffixes, ARRAY_SIZE(suffixes));
}

static bool is_assembly(const char *path)
{
	static const char *const suffixes[] = {".s", ".S", ".sx", ".asm"};
	const char *dot = strrchr(path, '.');

	return dot && is_one_of(dot, suffixes, ARRAY_SIZE(suffixes));
}

/* The names that autoconf, CMake and Meson give to what they compile to learn of the compiler. */
static bool is_probe(const char *path)
{
	const char *slash = strrchr(path, '/');

	return starts(slash ? slash + 1 : path, "conftest.") || strstr(path, "CMakeFiles/CMake") ||
	       strstr(path, "meson-private/");
}

/* @language: the value of -x, or NULL. */
static void scan_input(struct cc_args *args, const char *path, const char *language)
{
	args->has_input = true;
	if (is_header(path) || (language && strstr(language, "-header")))
		args->links = false;
	if (language ? starts(language, "assembler") : is_assembly(path))
		args->assembly = path;
	args->probe |= is_probe(path);
}

static void scan_lto(struct cc_args *args, const char *arg)
{
	if (!strcmp(arg, "-fno-lto"))
		args->lto = CC_LTO_NONE;
	else if (!strcmp(arg, "-flto=thin"))
		args->lto = CC_LTO_THIN;
	else if (!strcmp(arg, "-flto") || starts(arg, "-flto="))
		args->lto = CC_LTO_FULL;
}

void cc_args__scan(struct cc_args *args, int argc, char **argv)
{
	const char *language = NULL;

	*args = (struct cc_args){.links = true, .output = "a.out", .lld = default_is_lld()};
	for (int i = 1; i < argc; i++) {
		const char *arg = argv[i];

		if (arg[0] != '-' || !arg[1]) {
			scan_input(args, arg, language);
			continue;
		}
		if (is_one_of(arg, takes_value, ARRAY_SIZE(takes_value))) {
			if (i + 1 == argc)
				break;
			scan_value(args, arg, argv[++i]);
			if (!strcmp(arg, "-x"))
				language = strcmp(argv[i], "none") ? argv[i] : NULL;
			continue;
		}
		scan_lto(args, arg);
		if (starts(arg, "-l"))
			args->has_input = true;
		scan_mode(args, arg);
		scan_contents(args, arg);
	}
	if (args->lto && !args->lld && !args->unentered)
		args->unentered =
			"-flto: entries are made at link time, by lld only (-fuse-ld=lld)";
}
