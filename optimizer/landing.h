/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_LANDING_H
#define OPT_LANDING_H

/* Exception tables of an image: they refer to words of the program, see words.h. */
#include "bind.h"
#include "words.h"

/*
 * Rename the types that the module catches to the words that hold their addresses, and enter those.
 * To be run after optimization. -ENOTSUP: the program has no such word.
 */
int landing__bind(struct bound *bound, const struct words *words, const struct halo_prepared *p,
		  struct halo_err *err);

/*
 * In the object that comes of it, let tables refer to the words themselves instead of to words of the
 * object, and empty those. @object is changed in place.
 */
int landing__fix_object(void *object, size_t size, struct halo_err *err);

#endif
