/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_SECTION_H
#define OPT_SECTION_H

/*
 * A tuning section: a root function, which the program enters through its slot, and what it reaches
 * by direct calls as far as that is worth compiling with it.
 */
#include "inspect.h"
#include "profile.h"
#include "units.h"

struct member {
	uint32_t unit;
	char *name;		     /* as in the unit's bitcode */
	const struct halo_func *row; /* NULL: the program has no copy of its own */
	bool local;
	struct facts facts;
};

struct section {
	struct member *members; /* the root first */
	size_t n_members;
	bool recursive; /* a member calls the root, which an image binds directly */
};

/*
 * The section of @root. -ENOTSUP, with the reason in @why: the root can't be in a variant.
 */
int section__build(struct units *units, const struct profile *profile, enum request_fp fp,
		   const struct halo_func *root, struct section *out, char *why, size_t size);
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
