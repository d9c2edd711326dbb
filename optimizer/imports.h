/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_IMPORTS_H
#define OPT_IMPORTS_H

/*
 * What the program has from its libraries is known only at run time. Calls go through a stub of the
 * image; an address is read from the GOT word of the program.
 */
#include "bind.h"

/* Behind an import's name: the program's GOT word for it. */
#define IMPORTS_GOT_SUFFIX ".halo.got"

/*
 * Replace every use of an import's address by a load of its GOT word. To be run last, since
 * optimization makes such uses out of constants. -ENOTSUP: a use that can't be replaced.
 */
int imports__read_got(struct bound *bound, struct halo_err *err);

#endif
