/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_CC_GCC_H
#define HALO_CC_GCC_H

#include "cc_args.h"

/*
 * Whether an option is there that the driver @clang refuses and @gcc takes. Not in what a configure
 * script tries: it would choose such options for all that it builds, and nothing would be prepared.
 */
bool cc_gcc__is_needed(const struct cc_args *args, const char *clang, const char *gcc, int argc,
		       char **argv);

#endif
