/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_PREPARE_UNIT_H
#define HALO_PREPARE_UNIT_H

#include <stdio.h>

#include "origin.h"

/* A module that passes have run on. */
struct halo_module {
	LLVMModuleRef ref;
	LLVMContextRef ctx;
	enum halo_phase phase;
	uint64_t unit;	   /* its own; in HALO_FULL_LINK one of its own */
	bool ibt;	   /* entries begin with endbr64 */
	bool asan;	   /* globals get redzones later, unless they are in a group */
	bool instrumented; /* edges are counted, or indirect jumps guarded */
};

/* unit.c: why the whole unit stays as it is, or NULL. */
const char *halo_unit__refusal(LLVMModuleRef ref);
/* Whether its code is made at link time. */
bool halo_module__is_lto(LLVMModuleRef ref);
/* False if it is no prepared unit. */
bool halo_module__look(struct halo_module *m, LLVMModuleRef ref, enum halo_phase phase);

/*
 * embed.c: add the unit's row, with its bitcode, to the module's assembly. 0 or -errno, with *id being
 * what the unit is known by.
 */
int halo_unit__embed(LLVMModuleRef ref, bool o0, uint64_t *id);

/* pin.c: what must keep its layout or signature, while passes run and, of variables, afterwards. */
void halo_module__pin(LLVMModuleRef ref, enum halo_phase phase);
void halo_module__unpin(LLVMModuleRef ref);
/* Keep @values from being dropped, merged or changed by what follows. */
void halo_module__keep(LLVMModuleRef ref, LLVMValueRef *values, unsigned n);
/* Whether @value is kept so already. */
bool halo_module__keeps(LLVMModuleRef ref, LLVMValueRef value);

/* inspect.c: whether the source asks for code at @func's entry. */
bool halo_func__is_instrumented(LLVMValueRef func);
/* Whether it is large enough for a slot, as it is now. */
bool halo_func__is_worth_it(LLVMValueRef func);
/*
 * enum halo_reason of @func (HALO_REDIRECTABLE: it gets a slot), and its row's flags. @origin: NULL
 * if a pass made it.
 */
unsigned halo_func__reason(const struct halo_module *m, LLVMValueRef func,
			   const struct halo_origin *origin);
unsigned halo_func__flags(const struct halo_module *m, LLVMValueRef func,
			  const struct halo_origin *origin);

/* entries.c: give @func an entry that jumps through a new slot, which is returned. */
LLVMValueRef halo_func__make_entry(const struct halo_module *m, LLVMValueRef func, LLVMValueRef at);
/* A private name for where @func's own copy is, also when another copy of it wins the link. */
LLVMValueRef halo_func__local_name(const struct halo_module *m, LLVMValueRef func);

/* rounding.c, when a link begins: a * b + c is rounded twice from now on, also where it is folded. */
void halo_module__split_fmuladd(LLVMModuleRef ref);

/*
 * tls.c: functions that return addresses of thread-local variables; @group puts a value into a
 * section group.
 */
void halo_module__add_accessors(const struct halo_module *m,
				void (*group)(const struct halo_module *m, LLVMValueRef value));
bool halo_func__is_accessor(LLVMValueRef func);

/* rows.c: tables as module assembly. */
struct halo_rows {
	FILE *f;
	unsigned n_strings;
};

struct halo_unit_blob {
	const char *source;
	uint64_t id;
	const uint8_t *bc; /* zstd frame */
	size_t bc_size, raw_size;
	bool o0;
};

struct halo_func_facts {
	uint64_t unit;
	const char *name; /* in the unit's bitcode */
	LLVMValueRef at, slot;
	unsigned flags, reason;
};

void halo_rows__unit(FILE *f, const struct halo_unit_blob *blob);
void halo_rows__func(struct halo_rows *r, LLVMValueRef func, const struct halo_func_facts *facts);
void halo_rows__var(struct halo_rows *r, LLVMValueRef var, const struct halo_origin *origin);
/* False for names that assembly can't spell. */
bool halo_rows__can_name(const char *name);

/* util.c: what LLVM-C spells at length. */
bool halo_value__has_attr(LLVMValueRef func, const char *attr);
bool halo_value__has_string_attr(LLVMValueRef func, const char *attr);
const char *halo_value__name(LLVMValueRef value);
bool halo_value__is_local(LLVMValueRef value);
/* A local constant without an identity: passes may split and merge it, and variants have their own. */
bool halo_var__is_copyable(LLVMValueRef var);
/* Whether the unit calls @func by name. */
bool halo_func__is_called(LLVMValueRef func);
/* An integer module flag; 0 when it is absent. */
uint64_t halo_module__flag(LLVMModuleRef ref, const char *name);
/* Variables and functions, declared or defined. */
size_t halo_module__count(LLVMModuleRef ref);
/* Defined here and not merely a copy for inlining. */
bool halo_value__is_definition(LLVMValueRef value);

#endif
