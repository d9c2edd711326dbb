/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_UNWIND_TABLE_INTERNAL_H
#define HALO_UNWIND_TABLE_INTERNAL_H

#include "table.h"

/* From the place @off in the file on, another rule holds. */
struct halo_change {
	uint64_t off;
	uint16_t rule;
};

/* Make rows, pages and shapes of @v, which is by place. t->first_page and nr_pages are set. */
int halo_unwind__fold(struct halo_unwind_table *t, const struct halo_change *v, size_t n);

#endif
