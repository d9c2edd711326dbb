/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_CFI_INTERNAL_H
#define HALO_CFI_INTERNAL_H

/* What cfi.c and cfi_run.c share. */
#include "cfi.h"

struct head {
	size_t next, body; /* offsets in the section */
	size_t cie;	   /* an FDE's CIE */
	uint64_t id;
	bool is_cie;
	bool empty; /* nothing that could be used */
};

/* What functions have in common. */
struct cie {
	size_t at;
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra;	  /* column of the return address */
	uint8_t encoding; /* of an FDE's addresses */
	bool augmented, signal;
	size_t program, program_end;
};

bool halo_cfi__read_cie(const struct halo_cfi_section *s, size_t at, struct cie *cie);

#endif
