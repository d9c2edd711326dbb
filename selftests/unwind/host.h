/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_SELFTESTS_UNWIND_HOST_H
#define HALO_SELFTESTS_UNWIND_HOST_H

/* The kernel's unwinder, bpf/unwind.bpf.h, compiled for the host, and the tables that it reads. */
#include <stdbool.h>
#include <stdint.h>

#include "unwind/table.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define HOST_BUCKETS 16
#define HOST_TABLES  256

/* Forget all tables. */
void host__reset(void);
/* Lay out a table as number @table (from 1 on). False: no room. */
bool host__add_table(uint32_t table, const struct halo_unwind_table *t);
/* Of a file or, from memory, of an image. False: it describes no frames. */
bool host__compile(uint32_t table, const void *data, size_t size);

/* Reads the memory of whatever is unwound; not 0: failed. Set by the test. */
extern long (*host__read)(void *dst, uint32_t size, uint64_t addr);

extern struct halo_bucket host__buckets[HOST_BUCKETS];
extern uint32_t host__heads[HOST_TABLES];

static inline const struct halo_bucket *unwind__bucket(__u32 number)
{
	return number < HOST_BUCKETS ? &host__buckets[number] : NULL;
}

static inline __u32 unwind__table(__u32 table)
{
	return table < HOST_TABLES ? host__heads[table] : 0;
}

static inline long unwind__read(void *dst, __u32 size, __u64 addr)
{
	return host__read(dst, size, addr);
}

#include <unwind.bpf.h>

#endif
