// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/TargetMachine.h>

#include "attrs.h"
#include "ir.h"

#define UWTABLE_ASYNC 2 /* exact at every instruction */

static bool is_avx512(const char *name, size_t len)
{
	return (len >= 6 && memcmp(name, "avx512", 6) == 0) ||
	       (len >= 5 && memcmp(name, "avx10", 5) == 0) ||
	       (len >= 7 && memcmp(name, "evex512", 7) == 0);
}

/* "-name" in @own, for the name of @len bytes. */
static bool is_taken_away(const char *own, const char *name, size_t len)
{
	const char *at = own;

	while (at && *at) {
		if (at[0] == '-' && strncmp(at + 1, name, len) == 0 &&
		    (at[len + 1] == ',' || at[len + 1] == '\0'))
			return true;
		at = strchr(at, ',');
		at += !!at;
	}
	return false;
}

char *attrs__merge_features(const char *own, const char *host, bool no_avx512)
{
	char *out = malloc(strlen(own) + strlen(host) + 2);
	const char *at = host, *end;
	size_t n = strlen(own), len;

	if (!out)
		return NULL;
	memcpy(out, own, n);
	for (; *at; at = *end ? end + 1 : end) {
		end = strchrnul(at, ',');
		len = end - at;
		if (len < 2 || at[0] != '+' || (no_avx512 && is_avx512(at + 1, len - 1)) ||
		    is_taken_away(own, at + 1, len - 1))
			continue;
		if (n)
			out[n++] = ',';
		memcpy(out + n, at, len);
		n += len;
	}
	out[n] = '\0';
	return out;
}

/* Built to use no vector registers (a signal handler's, say): it gets no features at all. */
static bool is_integer_only(LLVMValueRef fn, const char *own)
{
	return ir__has_attr(fn, "noimplicitfloat") || is_taken_away(own, "sse", 3) ||
	       is_taken_away(own, "sse2", 4) || is_taken_away(own, "x87", 3);
}

static bool converts_to_unsigned(LLVMModuleRef module)
{
	ir__for_each_function(fn, module)
	{
		ir__for_each_block(block, fn)
		{
			ir__for_each_inst(inst, block)
			{
				if (LLVMGetInstructionOpcode(inst) == LLVMFPToUI ||
				    ir__is_intrinsic(inst, "llvm.fptoui.sat"))
					return true;
			}
		}
	}
	return false;
}

/* Its features decide how such a vector is passed, so it keeps those that it was shipped with. */
static bool passes_wide_vectors(LLVMValueRef fn)
{
	if (ir__has_wide_vector(LLVMGlobalGetValueType(fn)))
		return true;
	ir__for_each_block(block, fn)
	{
		ir__for_each_inst(inst, block)
		{
			if ((LLVMIsACallInst(inst) || LLVMIsAInvokeInst(inst)) &&
			    !ir__is_intrinsic(inst, "llvm.") &&
			    ir__has_wide_vector(LLVMGetCalledFunctionType(inst)))
				return true;
		}
	}
	return false;
}

static int set_cpu(LLVMValueRef fn, const char *cpu, const char *features, bool no_avx512,
		   const struct request_config *config)
{
	const char *own = ir__string_attr(fn, "target-features") ?: "";
	char *merged;

	if (passes_wide_vectors(fn))
		return 0;
	if (config->tune_host)
		ir__set_string_attr(fn, "tune-cpu", cpu);
	if (!config->cpu_host || is_integer_only(fn, own))
		return 0;
	merged = attrs__merge_features(own, features, no_avx512);
	if (!merged)
		return -ENOMEM;
	/*
	 * The shipped CPU stays: a host CPU's name brings all of its features, also those that are
	 * left out here.
	 */
	ir__set_string_attr(fn, "target-features", merged);
	free(merged);
	return 0;
}

/* Images are unwound through, and have no sections but the linker script's. */
static void set_common(LLVMValueRef fn)
{
	LLVMContextRef ctx = LLVMGetModuleContext(LLVMGetGlobalParent(fn));
	unsigned int kind = LLVMGetEnumAttributeKindForName("uwtable", strlen("uwtable"));

	LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
				LLVMCreateEnumAttribute(ctx, kind, UWTABLE_ASYNC));
	/* Large frames touch their pages one by one: Rust calls a function for that, C has it inline. */
	if (ir__string_attr(fn, "probe-stack"))
		ir__set_string_attr(fn, "probe-stack", "inline-asm");
	if (!ir__has_attr(fn, "optnone"))
		return;
	/* Compiled at -O0: nothing else in the program was told to stay out of line. */
	ir__remove_attr(fn, "optnone");
	ir__remove_attr(fn, "noinline");
	ir__set_string_attr(fn, "no-builtins", "");
}

int attrs__apply(const struct halo_prepared *p, LLVMModuleRef module,
		 const struct request_config *config, struct halo_err *err)
{
	char *cpu = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
	bool no_avx512 = converts_to_unsigned(module);
	int ret = 0;

	ir__for_each_function(fn, module)
	{
		if (LLVMIsDeclaration(fn))
			continue;
		set_common(fn);
		ret = ret ?: set_cpu(fn, cpu, features, no_avx512, config);
	}
	attrs__forbid_libcalls(p, module);
	LLVMDisposeMessage(cpu);
	LLVMDisposeMessage(features);
	return ret ? halo_err__set(err, ret, "out of memory") : 0;
}
