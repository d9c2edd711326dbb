/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_SYMBOLS_H
#define HALO_SYMBOLS_H

/*
 * Names and source lines of addresses in one ELF file, by libdwfl: its own tables, else a debug file
 * by build-id (/usr/lib/debug/.build-id), else debuginfod where DEBUGINFOD_URLS is set. Addresses are
 * link-time ones. Nothing of the file is trusted: what can't be read has no names.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../lib/err.h"
#include "../lib/prepared.h"

struct halo_symbols;

struct halo_symbol_at {
	const char *raw; /* as the linker has it */
	uint64_t addr, size;
};

/* One function that holds an address; what was inlined comes first. Unknown: NULL or 0. */
struct halo_inline {
	const char *function; /* linkage name */
	const char *file;
	unsigned int line;	    /* where the address, or the call of the function before, is */
	unsigned int discriminator; /* of the line */
	unsigned int decl_line;	    /* where the function begins */
};

#define HALO_INLINE_MAX 32

/*
 * A descriptor of the file that has build-id @id, to be closed by the caller: @path, or what the
 * process @pid (0: none) has under that path, or a debug file. -ENOENT: none of them has that build-id.
 */
int halo_symbols__find(const char *path, const struct halo_buildid *id, pid_t pid,
		       struct halo_err *err);

/* Of the file @fd, which stays the caller's; @path is for messages. Freed by halo_symbols__free(). */
int halo_symbols__open(int fd, const char *path, struct halo_symbols **out, struct halo_err *err);
void halo_symbols__free(struct halo_symbols *s);

/* File offset → link-time address through PT_LOAD; false when no segment holds it. */
bool halo_symbols__vaddr(const struct halo_symbols *s, uint64_t off, uint64_t *vaddr);
/* Where the first executable segment begins, down to its page: what LLVM's tools count from. */
uint64_t halo_symbols__text_base(const struct halo_symbols *s);

/* The function at @vaddr; strings live as long as @s. */
bool halo_symbols__at(struct halo_symbols *s, uint64_t vaddr, struct halo_symbol_at *out);
/* Its source line; false without debug information. */
bool halo_symbols__line(struct halo_symbols *s, uint64_t vaddr, const char **file,
			unsigned int *line);
/* What was inlined at @vaddr, innermost first, the function itself last: how many. 0: not known. */
size_t halo_symbols__inlined(struct halo_symbols *s, uint64_t vaddr,
			     struct halo_inline out[HALO_INLINE_MAX]);

/* Lines of [begin, end): calls fn with each row's own range of addresses and the functions there. */
typedef void (*halo_row_fn)(void *ctx, uint64_t begin, uint64_t end);
void halo_symbols__rows(struct halo_symbols *s, halo_row_fn fn, void *ctx);

/* As people write it: C++ and Rust names taken apart. The caller frees it; NULL: out of memory. */
char *halo_symbols__demangle(const char *raw);

/* The loaded, executable bytes at @vaddr, and how many follow; NULL: none. */
const uint8_t *halo_symbols__code(const struct halo_symbols *s, uint64_t vaddr, size_t *size);

#endif
