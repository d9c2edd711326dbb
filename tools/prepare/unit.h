/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_PREPARE_UNIT_H
#define HALO_PREPARE_UNIT_H

/*
 * One translation unit between the plugin's steps. Passes delete and replace values, so what is
 * remembered from before is found again by name; types live as long as the context.
 */
#include <stdio.h>

#include "prepare.h"

struct halo_origin_func {
	char *name;
	LLVMTypeRef type;
	uint64_t abi; /* hash of the parameter attributes that decide how arguments travel */
	unsigned cc;
	bool pinned;
	bool instrumented;
	bool called; /* by name, in its unit */
};

struct halo_origin_var {
	char *name;
	uint64_t size;
	bool constant;
	bool pinned; /* by us: the source did not ask for it */
};

struct halo_unit_state {
	LLVMModuleRef ref;
	LLVMContextRef ctx;
	uint64_t id;
	uint8_t *bc; /* zstd frame */
	size_t bc_size, raw_size;
	struct halo_origin_func *funcs; /* sorted by name */
	size_t n_funcs;
	struct halo_origin_var *vars; /* sorted by name */
	size_t n_vars;
	bool o0;
	bool ibt;	   /* entries begin with endbr64 */
	bool asan;	   /* globals get redzones later, unless they are in a group */
	bool instrumented; /* edges are counted, or indirect jumps guarded */
};

/* Why the whole unit stays as it is, or NULL. */
const char *halo_unit__refusal(LLVMModuleRef ref);

/* Record functions, variables and flags of a module that no pass has touched. NULL: no memory. */
struct halo_unit_state *halo_unit__new(LLVMModuleRef ref);
void halo_unit__free(struct halo_unit_state *u);

struct halo_origin_func *halo_unit__func(const struct halo_unit_state *u, const char *name);
struct halo_origin_var *halo_unit__var(const struct halo_unit_state *u, const char *name);

/* Hash of what decides, beside type and convention, how arguments of @func travel. */
uint64_t halo_abi__hash(LLVMValueRef func);

/* embed.c: serialise, hash and compress the module. 0 or -errno. */
int halo_unit__embed(struct halo_unit_state *u);

/* pin.c: what must keep its layout or signature, while passes run and, of variables, afterwards. */
void halo_unit__pin(struct halo_unit_state *u);
void halo_unit__unpin(struct halo_unit_state *u);
/* Keep @values from being dropped, merged or changed by what follows. */
void halo_module__keep(LLVMModuleRef ref, LLVMValueRef *values, unsigned n);

/* inspect.c: whether the source asks for code at @func's entry. */
bool halo_func__is_instrumented(LLVMValueRef func);
/* enum halo_reason of @func (HALO_REDIRECTABLE: it gets a slot), and its row's flags. */
unsigned halo_unit__reason(const struct halo_unit_state *u, LLVMValueRef func);
unsigned halo_unit__func_flags(const struct halo_unit_state *u, LLVMValueRef func);

/* entries.c: give @func an entry that jumps through a new slot, which is returned. */
LLVMValueRef halo_unit__make_entry(struct halo_unit_state *u, LLVMValueRef func, LLVMValueRef at);
/* A private name for where @func's own copy is, also when another copy of it wins the link. */
LLVMValueRef halo_unit__local_name(struct halo_unit_state *u, LLVMValueRef func);

/* rows.c: tables as module assembly. */
struct halo_rows {
	FILE *f;
	const struct halo_unit_state *unit;
	unsigned n_strings;
};
void halo_rows__unit(struct halo_rows *r, const char *source);
void halo_rows__func(struct halo_rows *r, LLVMValueRef func, LLVMValueRef at, LLVMValueRef slot,
		     unsigned flags, unsigned reason);
void halo_rows__var(struct halo_rows *r, LLVMValueRef var, const struct halo_origin_var *origin);
/* False for names that assembly can't spell. */
bool halo_rows__can_name(const char *name);

/* util.c: what LLVM-C spells at length. */
bool halo_value__has_attr(LLVMValueRef func, const char *attr);
bool halo_value__has_string_attr(LLVMValueRef func, const char *attr);
const char *halo_value__name(LLVMValueRef value);
bool halo_value__is_local(LLVMValueRef value);
/* Whether the unit calls @func by name. */
bool halo_func__is_called(LLVMValueRef func);
/* An integer module flag; 0 when it is absent. */
uint64_t halo_module__flag(LLVMModuleRef ref, const char *name);
/* Defined here and not merely a copy for inlining. */
bool halo_value__is_definition(LLVMValueRef value);

#endif
