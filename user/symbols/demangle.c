// SPDX-License-Identifier: BSD-2-Clause
/* Apart from the rest: libiberty's header has macros of our names. */
#include <string.h>

#include <libiberty/demangle.h>

#include "symbols.h"

char *halo_symbols__demangle(const char *raw)
{
	/* Old Rust names are C++ names too: asked first, it leaves out their hash. */
	char *text = rust_demangle(raw, DMGL_NO_OPTS);

	if (!text)
		text = cplus_demangle_v3(raw, DMGL_PARAMS | DMGL_ANSI);
	return text ?: strdup(raw);
}
