/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_CFI_H
#define HALO_CFI_H

/*
 * Call frame information of DWARF (5, section 6.4) and of .eh_frame (Linux Standard Base, 10.6) for
 * x86-64: from the sections' bytes to rules. The bytes are anyone's: nothing is believed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halo_unwind.h>

struct halo_cfi_section {
	const uint8_t *data;
	size_t size;
	uint64_t vaddr;	    /* of its first byte, for pointers that are relative to themselves */
	uint64_t text, got; /* what DW_EH_PE_textrel and datarel are relative to */
	bool debug_frame;   /* .debug_frame, not .eh_frame */
	bool until_empty;   /* its size is not known: an empty entry ends it */
};

/* A function's entry, not yet run. */
struct halo_fde {
	uint64_t begin, end; /* link-time addresses */
	size_t cie;	     /* offset of its CIE in the section */
	size_t program, program_end;
};

/* Calls fn for each row of an entry, by address. Returns fn's first result that is not 0. */
typedef int (*halo_row_fn)(void *ctx, uint64_t vaddr, const struct halo_rule *rule);

/*
 * All entries of the section, in its order; *out (*n of them) is the caller's to free. What is
 * malformed is left out, and counted in *bad. -ENOMEM.
 */
int halo_cfi__entries(const struct halo_cfi_section *s, struct halo_fde **out, size_t *n,
		      size_t *bad);

/* The entry at offset @at. False: none is there, or it is malformed. */
bool halo_cfi__entry(const struct halo_cfi_section *s, size_t at, struct halo_fde *out);

/*
 * Run the entry's instructions. A rule that can't be told is of kind HALO_RULE_NONE; from an
 * instruction on that is not understood, all are. Returns fn's result, or 0.
 */
int halo_cfi__run(const struct halo_cfi_section *s, const struct halo_fde *fde, halo_row_fn fn,
		  void *ctx);

#endif
