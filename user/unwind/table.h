/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_UNWIND_TABLE_H
#define HALO_UNWIND_TABLE_H

/*
 * Compiles the call frame information of a file into the tables that the unwinder in the kernel
 * reads: a row per address from which another rule holds, by file offset.
 */
#include <stddef.h>
#include <stdint.h>

#include <halo_unwind.h>

#include "../lib/err.h"

/* Page indices count from 0: in rows, as they lie here. Rule 0 is HALO_RULE_NONE. */
struct halo_unwind_table {
	uint32_t first_page, nr_pages;
	struct halo_unwind_page *pages;
	uint32_t *rows;
	size_t nr_rows;
	struct halo_rule *rules;
	uint32_t nr_rules;
	uint32_t (*shapes)[HALO_SHAPE_ROWS];
	uint32_t nr_shapes;

	uint64_t text;	   /* bytes of executable segments */
	size_t functions;  /* described */
	size_t changes;	   /* of the rule, which so many rows and shapes tell of */
	size_t malformed;  /* entries that were left out */
	size_t unknown;	   /* rows of code whose caller can't be told */
	size_t rules_lost; /* rows for whose rule there was no room */
};

/*
 * Of an ELF file or image of @size bytes at @data, that nobody changes meanwhile. In an image that lies
 * in memory as it is loaded, such as the vdso, offsets are addresses all the same. -ENODATA: it describes no function.
 */
int halo_unwind__compile(const void *data, size_t size, struct halo_unwind_table *out,
			 struct halo_err *err);
/*
 * Of code images in one file, each with an .eh_frame_hdr and its sorted table, linked to lie there: of
 * @size bytes at @data, with headers at the offsets hdr[0] … hdr[n - 1].
 */
int halo_unwind__compile_images(const void *data, size_t size, const uint64_t *hdr, size_t n,
				struct halo_unwind_table *out, struct halo_err *err);
void halo_unwind__free(struct halo_unwind_table *t);

/* Words that the table takes, laid out from position @at on: nothing lies in two buckets. */
size_t halo_unwind__size(const struct halo_unwind_table *t, uint32_t at);
/* Lay it out at words + @at; *head is the position of its head. */
void halo_unwind__write(const struct halo_unwind_table *t, uint32_t *words, uint32_t at,
			uint32_t *head);

#endif
