/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_LIB_PREPARED_INTERNAL_H
#define HALO_LIB_PREPARED_INTERNAL_H

/*
 * Between the files of the reader. The order is prepared.c (file), prepared_elf.c (segments,
 * sections), then the tables, then the symbols, then the indexes; each may use what came before it.
 *
 * Whoever knows the build-id of an enrolled program can make the daemon read a file of his own. So
 * what is read must not only be in bounds: time and memory must be about linear in the file's size,
 * however its parts overlap and repeat.
 */
#include <string.h>

#include <gelf.h>

#include "prepared.h"

/* A file that contradicts itself. The cause and remedy are the same for all of them. */
int halo_prepared__corrupt(struct halo_err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The first section of that name, or type, that has bytes; or NULL. */
const struct halo_section *halo_section__find(const struct halo_prepared *p, const char *name);
const struct halo_section *halo_section__of_type(const struct halo_prepared *p, uint32_t type);
/* The section that @s links to, if it has bytes; or NULL. */
const struct halo_section *halo_section__link(const struct halo_prepared *p,
					      const struct halo_section *s);

/*
 * The NUL-terminated string at @off of @s, or NULL: out of bounds, or all strings together are
 * far longer than the file.
 */
const char *halo_prepared__string(struct halo_prepared *p, const struct halo_section *s,
				  uint64_t off);

/* Whether [vaddr, vaddr + size) lies in one segment that has all of @flags. */
bool halo_prepared__in_memory(const struct halo_prepared *p, uint64_t vaddr, uint64_t size,
			      uint32_t flags);
/* The same for file contents; returns them, or NULL. */
const uint8_t *halo_prepared__bytes(const struct halo_prepared *p, uint64_t vaddr, uint64_t size,
				    uint32_t flags);

#define HALO_PHDRS_MAX 1024 /* the kernel takes no more either */
#define HALO_NOTES_MAX 4096 /* bytes; the kernel looks no further than a page */

/* Search notes, aligned to @align, for a build-id. */
bool halo_buildid__find(const uint8_t *notes, size_t size, uint64_t align, struct halo_buildid *id);

/* The order of halo_prepared.symbols. */
int halo_symbol__compare(const void *a, const void *b);

/* Headers, segments, sections, build-id. */
int halo_prepared__read_elf(struct halo_prepared *p, struct halo_err *err);
int halo_prepared__read_stub(struct halo_prepared *p, struct halo_err *err);
int halo_prepared__read_tables(struct halo_prepared *p, struct halo_err *err);
int halo_prepared__check_slots(const struct halo_prepared *p, struct halo_err *err);
/* Sets no_unwind. */
void halo_prepared__check_unwind(struct halo_prepared *p);
int halo_prepared__read_symbols(struct halo_prepared *p, struct halo_err *err);
/* Function sizes and the indexes by name. */
int halo_prepared__index(struct halo_prepared *p, struct halo_err *err);

#endif
