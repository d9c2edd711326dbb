/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_UNWIND_ELF_H
#define HALO_UNWIND_ELF_H

/* What of an ELF file describes its frames. */
#include "../lib/err.h"
#include "cfi.h"

#define HALO_UNWIND_SEGMENTS 64 /* executable ones; more are left out */

struct halo_unwind_segment {
	uint64_t vaddr, off, size;
};

struct halo_unwind_elf {
	struct halo_unwind_segment segments[HALO_UNWIND_SEGMENTS];
	unsigned int n_segments;
	struct halo_cfi_section eh_frame, debug_frame; /* size 0: it has none */
	void *elf; /* of libelf, which owns what is decompressed */
};

int halo_unwind_elf__open(const void *data, size_t size, struct halo_unwind_elf *out,
			  struct halo_err *err);
void halo_unwind_elf__close(struct halo_unwind_elf *e);

#endif
