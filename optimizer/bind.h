/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_BIND_H
#define OPT_BIND_H

/*
 * Makes one module of a section's functions. Everything else that they name becomes a declaration,
 * and an entry in the symbol list that says where the program keeps it. Local names get the unit's
 * index as a suffix, so that two units' never meet.
 */
#include "section.h"
#include "symbols.h"

/* Behind the name of a member whose address is taken: the program's copy is meant, not ours. */
#define BIND_ADDRESS_SUFFIX ".halo.addr"

struct bound {
	LLVMModuleRef module; /* lives in the units' context; freed before that */
	struct symbols symbols;
};

struct binder {
	const struct halo_prepared *p;
	const struct section *section;
	LLVMModuleRef module; /* of the unit being bound */
	uint32_t unit;
	struct symbols *symbols;
	struct halo_err *err;
};

int bind__section(struct units *units, const struct section *section, struct bound *out,
		  struct halo_err *err);
void bound__free(struct bound *bound);

/* The member's symbol in the module. */
void bind__member_name(const struct member *m, char *buf, size_t size);

/* bind_functions.c, bind_globals.c: the steps within one unit, in their order. */
/* llvm.used, llvm.global_ctors and so on: what they do was done in the program. */
void bind__drop_special(LLVMModuleRef module);
int bind__functions(struct binder *b);
/* bind_tls.c */
int bind__thread_locals(struct binder *b);
int bind__globals(struct binder *b);

/* Once units are joined: as uses of the member @fn other than calls were bound before, bind these. */
int bind__split_address(struct bound *bound, const struct member *m, LLVMValueRef fn,
			struct halo_err *err);

/* Name @value so that its unit's local names are unique, and enter it. */
int bind__enter(struct binder *b, LLVMValueRef value, struct place place);

#endif
