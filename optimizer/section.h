/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_SECTION_H
#define OPT_SECTION_H

/*
 * A tuning section: root functions, which the program enters through their slots, and what they reach
 * by direct calls as far as that is worth compiling with them. Sections that are tuned have one root.
 */
#include "inspect.h"
#include "profile.h"
#include "units.h"

struct member {
	uint32_t unit;
	char *name;		     /* as in the unit's bitcode */
	const struct halo_func *row; /* NULL: the program has no copy of its own */
	bool local;
	bool target; /* nothing calls it by name: the profile says that it is called */
	struct facts facts;
};

struct section {
	struct member *members; /* the roots first */
	size_t n_members, n_roots;
	bool recursive; /* a member calls the first root, which an image binds directly */
};

struct section_root {
	const struct halo_func *func;
	LLVMValueRef fn;
	char why[256]; /* it can't be in a variant; empty: it is */
};

/*
 * The section of @roots, of which those that can't be in a variant get a reason: what is hot, or, where
 * the request has a profile, what was counted then. -ENOTSUP when no root is left.
 */
int section__build(struct units *units, const struct profile *profile, const struct request *req,
		   struct section_root *roots, size_t n, struct section *out);
void section__free(struct section *section);

/* The member that unit @unit means by @name, or NULL. */
const struct member *section__find(const struct section *section, uint32_t unit, const char *name,
				   bool local);

/*
 * Where the definition of @fn, which unit @unit names, is: its unit and value. False: there is no
 * bitcode for it, or its unit can't be used.
 */
bool section__definition(struct units *units, uint32_t unit, LLVMValueRef fn, uint32_t *def_unit,
			 LLVMValueRef *def);

#endif
