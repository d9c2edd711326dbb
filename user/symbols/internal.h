/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_SYMBOLS_INTERNAL_H
#define HALO_SYMBOLS_INTERNAL_H

/* What the files of this folder share. */
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include "../lib/util.h"
#include "symbols.h"

struct halo_symbols {
	Dwfl *dwfl;
	Dwfl_Module *module; /* at bias 0: its addresses are link-time ones */
	uint8_t *map;	     /* a copy of the file */
	size_t size;
	struct halo_segment *segments; /* PT_LOAD only */
	size_t n_segments;
	struct halo_unit_range *units; /* of code, by address */
	size_t n_units;
	bool has_units;	       /* looked for */
	struct halo_row *rows; /* sorted; NULL: not read yet */
	size_t n_rows;
};

struct halo_row {
	uint64_t begin, end;
};

struct halo_unit_range {
	uint64_t begin, end; /* link-time addresses */
	Dwarf_Die cu;
	Dwarf_Addr bias; /* of the debug file's addresses to the link-time ones */
};

/*
 * units.c: the compilation unit that holds @vaddr, or NULL. Not by libdwfl's own search, which needs
 * .debug_aranges: clang writes none.
 */
struct halo_unit_range *halo_symbols__unit(struct halo_symbols *s, uint64_t vaddr);

#endif
