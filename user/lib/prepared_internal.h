/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_LIB_PREPARED_INTERNAL_H
#define HALO_LIB_PREPARED_INTERNAL_H

/*
 * Between the files of the reader. The order is prepared.c (file, segments, sections), then the
 * tables, then the symbols, then the indexes; each may use what came before it.
 */
#include <string.h>

#include <gelf.h>

#include "prepared.h"

/* A file that contradicts itself. The cause and remedy are the same for all of them. */
int halo_prepared__corrupt(struct halo_err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The first section of that name that has bytes, or NULL. */
const struct halo_section *halo_section__find(const struct halo_prepared *p, const char *name);
/* The NUL-terminated string at @off, or NULL. */
const char *halo_section__string(const struct halo_section *s, uint64_t off);

/* Whether [vaddr, vaddr + size) lies in one segment that has all of @flags. */
bool halo_prepared__in_memory(const struct halo_prepared *p, uint64_t vaddr, uint64_t size,
			      uint32_t flags);
/* The same for file contents; returns them, or NULL. */
const uint8_t *halo_prepared__bytes(const struct halo_prepared *p, uint64_t vaddr, uint64_t size,
				    uint32_t flags);

int halo_buildid__from_elf(Elf *elf, struct halo_buildid *id);

int halo_prepared__read_stub(struct halo_prepared *p, struct halo_err *err);
int halo_prepared__read_tables(struct halo_prepared *p, struct halo_err *err);
int halo_prepared__check_slots(const struct halo_prepared *p, struct halo_err *err);
int halo_prepared__read_symbols(struct halo_prepared *p, struct halo_err *err);
/* Function sizes and the indexes by name. */
int halo_prepared__index(struct halo_prepared *p, struct halo_err *err);

#endif
