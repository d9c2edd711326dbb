// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>

#include "ir.h"

#define VECTOR_MAX_BITS 128 /* wider ones are passed differently by different CPUs */
#define TYPE_DEPTH_MAX	8

static unsigned int scalar_bits(LLVMTypeRef type)
{
	switch (LLVMGetTypeKind(type)) {
	case LLVMIntegerTypeKind:
		return LLVMGetIntTypeWidth(type);
	case LLVMHalfTypeKind:
	case LLVMBFloatTypeKind:
		return 16;
	case LLVMFloatTypeKind:
		return 32;
	case LLVMX86_FP80TypeKind:
	case LLVMFP128TypeKind:
		return 128;
	default:
		return 64;
	}
}

static bool has_wide_vector(LLVMTypeRef type, int depth)
{
	unsigned int i, n;

	if (depth == TYPE_DEPTH_MAX)
		return true;
	switch (LLVMGetTypeKind(type)) {
	case LLVMVectorTypeKind:
		return LLVMGetVectorSize(type) * scalar_bits(LLVMGetElementType(type)) >
		       VECTOR_MAX_BITS;
	case LLVMScalableVectorTypeKind:
	case LLVMX86_AMXTypeKind:
		return true;
	case LLVMArrayTypeKind:
		return has_wide_vector(LLVMGetElementType(type), depth + 1);
	case LLVMStructTypeKind:
		n = LLVMCountStructElementTypes(type);
		for (i = 0; i < n; i++)
			if (has_wide_vector(LLVMStructGetTypeAtIndex(type, i), depth + 1))
				return true;
		return false;
	default:
		return false;
	}
}

bool ir__has_wide_vector(LLVMTypeRef type)
{
	unsigned int i, n = LLVMCountParamTypes(type);
	LLVMTypeRef *params;
	bool wide;

	wide = has_wide_vector(LLVMGetReturnType(type), 0);
	params = calloc(n + 1, sizeof(LLVMTypeRef));
	if (!params)
		return true;
	LLVMGetParamTypes(type, params);
	for (i = 0; i < n && !wide; i++)
		wide = has_wide_vector(params[i], 0);
	free(params);
	return wide;
}
