// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a definition was before any pass: metadata of it, so that it goes with it through renaming,
 * replacement by one of another signature, and links of bitcode.
 *
 *	!halo !{i64 unit, !"name", i64 signature or size, i64 flags}
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <halo/prepared.h>
#include <llvm-c/Target.h>

#include "unit.h"

#define KIND	       "halo"
#define UNIT_LIST      "halo.unit"
#define FNV_BASIS      0xcbf29ce484222325ULL
#define FNV_PRIME      0x100000001b3ULL

#define TYPE_DEPTH_MAX 8

enum field {
	UNIT,
	NAME,
	VALUE,
	FLAGS,
	N_FIELDS
};

static uint64_t hash_word(uint64_t hash, uint64_t word)
{
	return (hash ^ word) * FNV_PRIME;
}

/* Structure, not names: the same type has another name in another module. */
static uint64_t hash_type(uint64_t hash, LLVMTypeRef type)
{
	LLVMTypeKind kind = LLVMGetTypeKind(type);
	unsigned n;

	hash = hash_word(hash, kind + 1);
	switch (kind) {
	case LLVMIntegerTypeKind:
		return hash_word(hash, LLVMGetIntTypeWidth(type));
	case LLVMArrayTypeKind:
		hash = hash_word(hash, LLVMGetArrayLength2(type));
		return hash_type(hash, LLVMGetElementType(type));
	case LLVMVectorTypeKind:
		hash = hash_word(hash, LLVMGetVectorSize(type));
		return hash_type(hash, LLVMGetElementType(type));
	case LLVMStructTypeKind:
		n = LLVMCountStructElementTypes(type);
		hash = hash_word(hash, n << 1 | !!LLVMIsPackedStruct(type));
		for (unsigned i = 0; i < n; i++)
			hash = hash_type(hash, LLVMStructGetTypeAtIndex(type, i));
		return hash;
	default:
		return hash;
	}
}

static uint64_t hash_attributes(uint64_t hash, LLVMValueRef func, unsigned index)
{
	static const char *const attrs[] = {
		"byval", "byref",    "sret",	  "inreg",	"zeroext",    "signext",
		"nest",	 "inalloca", "swiftself", "swifterror", "swiftasync", "preallocated",
	};

	for (unsigned k = 0; k < sizeof(attrs) / sizeof(attrs[0]); k++) {
		unsigned kind = LLVMGetEnumAttributeKindForName(attrs[k], strlen(attrs[k]));

		if (LLVMGetEnumAttributeAtIndex(func, index, kind))
			hash = hash_word(hash, index << 8 | (k + 1));
	}
	return hash;
}

uint64_t halo_func__signature(LLVMValueRef func)
{
	LLVMTypeRef type = LLVMGlobalGetValueType(func);
	unsigned n = LLVMCountParams(func), cc = LLVMGetFunctionCallConv(func);
	uint64_t hash = FNV_BASIS;

	/* fastcc differs from C only in 32-bit code and under guaranteed tail calls. */
	hash = hash_word(hash, cc == LLVMFastCallConv ? LLVMCCallConv : cc);
	hash = hash_word(hash, LLVMIsFunctionVarArg(type));
	hash = hash_type(hash, LLVMGetReturnType(type));
	for (unsigned i = 0; i < n; i++)
		hash = hash_type(hash, LLVMTypeOf(LLVMGetParam(func, i)));
	for (unsigned i = 0; i <= n; i++)
		hash = hash_attributes(hash, func, i);
	return hash;
}

static unsigned kind_id(LLVMContextRef ctx)
{
	return LLVMGetMDKindIDInContext(ctx, KIND, strlen(KIND));
}

static LLVMMetadataRef number(LLVMContextRef ctx, uint64_t n)
{
	return LLVMValueAsMetadata(LLVMConstInt(LLVMInt64TypeInContext(ctx), n, false));
}

static void attach(LLVMModuleRef ref, LLVMValueRef value, const struct halo_origin *origin)
{
	LLVMContextRef ctx = LLVMGetModuleContext(ref);
	LLVMMetadataRef fields[N_FIELDS] = {
		[UNIT] = number(ctx, origin->unit),
		[NAME] = LLVMMDStringInContext2(ctx, origin->name, strlen(origin->name)),
		[VALUE] = number(ctx, origin->value),
		[FLAGS] = number(ctx, origin->flags),
	};

	LLVMGlobalSetMetadata(value, kind_id(ctx), LLVMMDNodeInContext2(ctx, fields, N_FIELDS));
}

static void note_func(LLVMModuleRef ref, LLVMValueRef func, uint64_t unit)
{
	struct halo_origin origin = {
		.unit = unit,
		.name = halo_value__name(func),
		.value = halo_func__signature(func),
	};

	if (halo_value__is_local(func))
		origin.flags |= HALO_ORIGIN_LOCAL;
	if (halo_module__keeps(ref, func))
		origin.flags |= HALO_ORIGIN_KEPT;
	if (halo_func__is_instrumented(func))
		origin.flags |= HALO_ORIGIN_INSTRUMENTED;
	if (halo_func__is_called(func))
		origin.flags |= HALO_ORIGIN_CALLED;
	attach(ref, func, &origin);
}

static bool holds_pointers(LLVMTypeRef type, int depth)
{
	unsigned i, n;

	switch (LLVMGetTypeKind(type)) {
	case LLVMPointerTypeKind:
		return true;
	case LLVMArrayTypeKind:
		return depth && holds_pointers(LLVMGetElementType(type), depth - 1);
	case LLVMStructTypeKind:
		n = LLVMCountStructElementTypes(type);
		for (i = 0; i < n && depth; i++)
			if (holds_pointers(LLVMStructGetTypeAtIndex(type, i), depth - 1))
				return true;
		return false;
	default:
		return false;
	}
}

/*
 * A variant has its own copy of a local constant whose address nobody looks at, and needs no row for it:
 * unless it holds pointers, such as the vtable of a local class.
 */
static bool wants_row(LLVMValueRef var)
{
	const char *name = halo_value__name(var);

	if (!halo_value__is_definition(var) || !strncmp(name, "llvm.", 5) ||
	    !halo_rows__can_name(name))
		return false;
	return !halo_var__is_copyable(var) ||
	       (LLVMGetLinkage(var) != LLVMPrivateLinkage &&
		holds_pointers(LLVMGlobalGetValueType(var), TYPE_DEPTH_MAX));
}

static void note_var(LLVMModuleRef ref, LLVMValueRef var, uint64_t unit)
{
	struct halo_origin origin = {
		.unit = unit,
		.name = halo_value__name(var),
		.value = LLVMABISizeOfType(LLVMGetModuleDataLayout(ref),
					   LLVMGlobalGetValueType(var)),
	};

	if (halo_value__is_local(var))
		origin.flags |= HALO_ORIGIN_LOCAL;
	if (halo_module__keeps(ref, var))
		origin.flags |= HALO_ORIGIN_KEPT;
	if (LLVMIsGlobalConstant(var))
		origin.flags |= HALO_ORIGIN_CONST;
	attach(ref, var, &origin);
}

void halo_origin__note(LLVMModuleRef ref, uint64_t unit)
{
	LLVMContextRef ctx = LLVMGetModuleContext(ref);
	LLVMMetadataRef id = number(ctx, unit);

	for (LLVMValueRef f = LLVMGetFirstFunction(ref); f; f = LLVMGetNextFunction(f))
		if (halo_value__is_definition(f))
			note_func(ref, f, unit);
	for (LLVMValueRef v = LLVMGetFirstGlobal(ref); v; v = LLVMGetNextGlobal(v))
		if (wants_row(v))
			note_var(ref, v, unit);
	LLVMAddNamedMetadataOperand(ref, UNIT_LIST,
				    LLVMMetadataAsValue(ctx, LLVMMDNodeInContext2(ctx, &id, 1)));
}

static uint64_t constant(LLVMValueRef value)
{
	return value && LLVMIsAConstantInt(value) ? LLVMConstIntGetZExtValue(value) : 0;
}

static bool read_node(LLVMContextRef ctx, LLVMMetadataRef node, struct halo_origin *out)
{
	LLVMValueRef wrapped = LLVMMetadataAsValue(ctx, node), fields[N_FIELDS];
	unsigned len;

	if (LLVMGetMDNodeNumOperands(wrapped) != N_FIELDS)
		return false;
	LLVMGetMDNodeOperands(wrapped, fields);
	*out = (struct halo_origin){
		.unit = constant(fields[UNIT]),
		/* Strings of a context are keys of its table, which end in NUL. */
		.name = LLVMGetMDString(fields[NAME], &len),
		.value = constant(fields[VALUE]),
		.flags = (uint32_t)constant(fields[FLAGS]),
	};
	return out->name;
}

static bool read_origin(LLVMValueRef value, struct halo_origin *out)
{
	LLVMContextRef ctx = LLVMGetModuleContext(LLVMGetGlobalParent(value));
	LLVMValueMetadataEntry *all;
	bool found = false;
	size_t n;

	all = LLVMGlobalCopyAllMetadata(value, &n);
	for (size_t i = 0; i < n && !found; i++)
		if (LLVMValueMetadataEntriesGetKind(all, i) == kind_id(ctx))
			found = read_node(ctx, LLVMValueMetadataEntriesGetMetadata(all, i), out);
	LLVMDisposeValueMetadataEntries(all);
	return found;
}

static const char *skip_digits(const char *text)
{
	while (isdigit((unsigned char)*text))
		text++;
	return text;
}

/*
 * Links of bitcode rename: "name.7" where there are two, "name.llvm.123" for what other modules need.
 * Clones have words in their names ("name.specialized.1").
 */
static bool is_renamed(const char *name, const char *origin)
{
	size_t len = strlen(origin);

	if (strncmp(name, origin, len))
		return false;
	for (name += len; *name == '.'; name = skip_digits(name)) {
		name += strncmp(name, ".llvm.", 6) ? 1 : 6;
		if (!isdigit((unsigned char)*name))
			return false;
	}
	return !*name;
}

bool halo_origin__of(LLVMValueRef value, struct halo_origin *out)
{
	return read_origin(value, out) && is_renamed(halo_value__name(value), out->name);
}

bool halo_origin__unit(LLVMValueRef value, uint64_t *unit)
{
	struct halo_origin origin;

	if (!read_origin(value, &origin))
		return false;
	*unit = origin.unit;
	return true;
}

/* Imported functions bring their modules' named metadata, behind our own; but no assembly. */
bool halo_module__own_unit(LLVMModuleRef ref, uint64_t *unit)
{
	unsigned n = LLVMGetNamedMetadataNumOperands(ref, UNIT_LIST);
	LLVMValueRef *nodes, id;
	const char *text;
	size_t len;

	text = LLVMGetModuleInlineAsm(ref, &len);
	if (!n || !memmem(text, len, HALO_SEC_UNIT, strlen(HALO_SEC_UNIT)))
		return false;
	nodes = calloc(n, sizeof(*nodes));
	if (!nodes)
		abort();
	LLVMGetNamedMetadataOperands(ref, UNIT_LIST, nodes);
	LLVMGetMDNodeOperands(nodes[0], &id);
	*unit = constant(id);
	free(nodes);
	return true;
}
