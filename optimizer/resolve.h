/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_RESOLVE_H
#define OPT_RESOLVE_H

/* Where the program keeps what its bitcode names. */
#include <llvm-c/Core.h>

#include "../user/lib/prepared.h"

enum where {
	WHERE_NOWHERE,
	WHERE_PROGRAM,	/* addr is its link-time address */
	WHERE_TLS,	/* addr is its offset in the program's TLS block */
	WHERE_NEVER,	/* a function that never returns, and that the program never calls either */
	WHERE_CONSTANT, /* a word that the image brings along; addr is what it holds */
	WHERE_IMPORT, /* addr is the link-time address of a word with its address, mostly of the GOT */
};

struct place {
	enum where where;
	uint64_t addr;
	bool lazy; /* WHERE_IMPORT: the word can be called through, but not read */
};

/* A symbol that other modules and units see. */
struct place resolve__external(const struct halo_prepared *p, const char *name);

/* A function, variable or alias as unit @unit names it. */
struct place resolve__value(const struct halo_prepared *p, uint32_t unit, LLVMValueRef value);

/*
 * A library's own symbol that it reaches through a word of its GOT, since another module may have the
 * one that counts in the process. What is there at its own address must not be used instead.
 */
bool resolve__is_preempted(const struct halo_prepared *p, LLVMValueRef value);

/* The function's row: of the unit if local, else the surviving one; NULL if it has none. */
const struct halo_func *resolve__func(const struct halo_prepared *p, uint32_t unit,
				      LLVMValueRef fn);

/*
 * A function that throws or aborts (std::terminate(), std::__throw_length_error()), and that no code of
 * the program refers to. The compiler saw that no call of it is ever reached; in a variant it may not
 * see that, but it is as true.
 */
bool resolve__is_never(const struct halo_prepared *p, uint32_t unit, LLVMValueRef fn);

/*
 * The unit's function that returns the address of a thread-local variable, or that of another unit
 * which names the same one. NULL: there is none.
 */
const struct halo_func *resolve__accessor(const struct halo_prepared *p, uint32_t unit,
					  LLVMValueRef var);

bool resolve__is_local(LLVMValueRef value);

/* NUL-terminated, LLVM's own copy. */
const char *resolve__name(LLVMValueRef value);

#endif
