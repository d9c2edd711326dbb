/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_LIB_PREPARED_H
#define HALO_LIB_PREPARED_H

/*
 * Reads what halo-cc left in an executable (see halo/prepared.h for the format). Every length,
 * offset and address in the file is checked; nothing of it is trusted.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halo/prepared.h>

#include "err.h"

#define HALO_BUILD_ID_MAX 20
#define HALO_FILE_MAX	  (1ULL << 30) /* larger files are refused: -EFBIG */
#define HALO_BITCODE_MAX  (1ULL << 30) /* uncompressed, of one unit */
#define HALO_LLVM_MAJOR	  19	       /* newer bitcode can't be read */

struct halo_buildid {
	uint32_t len; /* bytes; 0: the file has none */
	uint8_t id[HALO_BUILD_ID_MAX];
};

struct halo_segment {
	uint64_t vaddr, off, filesz, memsz;
	uint32_t flags; /* PF_X | PF_W | PF_R */
};

struct halo_unit {
	uint64_t id;
	const char *name;
	const uint8_t *bc; /* zstd frame, in the mapped file */
	size_t bc_size, raw_size;
	uint32_t flags; /* enum halo_unit_flag */
	uint16_t llvm;
	bool ambiguous; /* another unit has the same id: its local names can't be told apart */
};

struct halo_func {
	const char *name;
	uint64_t addr;
	uint64_t size;	 /* bytes, with the entry; without a symbol: up to the next function */
	uint64_t slot;	 /* address, 0: none */
	uint32_t unit;	 /* index in units */
	uint16_t flags;	 /* enum halo_func_flag */
	uint16_t reason; /* enum halo_reason */
};

struct halo_var {
	const char *name;
	uint64_t addr; /* HALO_VAR_TLS: offset from the start of the TLS block */
	uint64_t size;
	uint32_t unit;
	uint32_t flags; /* enum halo_var_flag */
};

/* A symbol of .symtab or .dynsym, or a word of the GOT that the dynamic linker fills in. */
struct halo_symbol {
	const char *name;
	uint64_t addr;
	uint64_t size;
	uint8_t type;	  /* STT_* */
	uint8_t bind;	  /* STB_* */
	bool undefined;	  /* of another module: see got */
	uint64_t got;	  /* address of its GOT word, 0: none */
	bool got_is_lazy; /* callable, but holds the symbol's address only after the first call */
	bool preemptible; /* a library's own, yet another module's may take its place in the process */
};

/* A section and where its bytes are in the file; data is NULL where it has none. */
struct halo_section {
	const char *name;
	uint32_t type; /* SHT_* */
	uint32_t link;
	uint64_t flags; /* SHF_* */
	const uint8_t *data;
	size_t size;
};

struct halo_prepared {
	int fd;
	/*
	 * A private copy of the file, so that nobody can change or truncate it after it was checked.
	 * Debug information may have become zeros.
	 */
	const uint8_t *map;
	size_t map_size;
	struct halo_buildid buildid;
	bool pic;	 /* ET_DYN */
	bool is_static;	 /* no PT_INTERP and no DT_NEEDED */
	bool is_library; /* ET_DYN without PT_INTERP and not static-pie */
	int64_t arena;	 /* of a library: its place, once the daemon has chosen one; else 0 */
	struct halo_segment *segments;
	size_t n_segments;
	uint64_t tls_size, tls_align; /* PT_TLS; size 0: none */
	const char *no_unwind; /* why exceptions can't pass through variants; NULL: they can */
	bool has_stub;
	struct halo_stub_row stub;  /* valid if has_stub */
	const uint8_t *attach_code; /* of the stub, in map */
	struct halo_unit *units;
	size_t n_units;
	struct halo_func *funcs; /* sorted by addr, dropped ones left out */
	size_t n_funcs;
	struct halo_var *vars; /* sorted by (unit, name) */
	size_t n_vars;
	struct halo_symbol *symbols; /* sorted by name */
	size_t n_symbols;
	bool bind_now; /* the dynamic linker fills in all GOT words at start */
	bool symbolic; /* a library that uses its own symbols whatever other modules have */
	struct halo_section *sections;
	size_t n_sections;
	uint32_t *funcs_by_name; /* indices, sorted by (name, unit) */
	uint32_t *vars_by_name;
	size_t string_bytes; /* total length of the strings taken from the file */
};

/*
 * Read the ELF file @fd (duplicated; the caller keeps its own). -ENOEXEC: not an x86-64 ELF
 * executable or library. -ENODATA: no .halo.* sections (built without halo-cc, or the sections were
 * removed). -EFBIG: too large. -EBADMSG: sections that contradict themselves or the file. *out is to be freed with
 * halo_prepared__free().
 */
int halo_prepared__open(int fd, struct halo_prepared **out, struct halo_err *err);
void halo_prepared__free(struct halo_prepared *p);
/*
 * The same of a file that may be built with anything: segments, sections and build-id, and nothing of
 * what halo-cc left.
 */
int halo_prepared__open_any(int fd, struct halo_prepared **out, struct halo_err *err);

/* The function whose code holds link-time address @vaddr, or NULL. */
const struct halo_func *halo_prepared__func_at(const struct halo_prepared *p, uint64_t vaddr);

/* A defined function or variable by unit index and name; @unit -1: an external one of any unit. */
const struct halo_func *halo_prepared__func(const struct halo_prepared *p, int unit,
					    const char *name);
const struct halo_var *halo_prepared__var(const struct halo_prepared *p, int unit,
					  const char *name);
/* By name in the symbol tables (defined ones before undefined ones), or NULL. */
const struct halo_symbol *halo_prepared__symbol(const struct halo_prepared *p, const char *name);

/* Decompress the bitcode of @unit into a new buffer of unit->raw_size bytes. */
int halo_unit__bitcode(const struct halo_unit *unit, uint8_t **out, struct halo_err *err);

/* File offset ↔ link-time address through PT_LOAD; false when no segment holds it. */
bool halo_prepared__off_to_vaddr(const struct halo_prepared *p, uint64_t off, uint64_t *vaddr);
bool halo_prepared__vaddr_to_off(const struct halo_prepared *p, uint64_t vaddr, uint64_t *off);

/* Where images go, as a link-time address (may be negative as int64_t). */
static inline int64_t halo_prepared__arena(const struct halo_prepared *p)
{
	if (p->is_library)
		return p->arena ? p->arena : HALO_LIBRARY_ARENA(HALO_LIBRARY_PLACES - 1);
	return p->pic ? HALO_ARENA_PIC : HALO_ARENA_FIXED;
}

/*
 * SHA-256 over all that this reader takes from a file: program headers, the loaded segments' file
 * contents, the .halo.* sections and the symbol tables (images are bound by them). It is the
 * identity of a binary: a build-id is only a name, which anyone can forge.
 */
int halo_prepared__hash(const struct halo_prepared *p, uint8_t hash[32], struct halo_err *err);

/* Build-id only, of any ELF file; -ENODATA when it has none. */
int halo_buildid__read(int fd, struct halo_buildid *id, struct halo_err *err);
/* Lower-case hexadecimal, NUL-terminated. */
void halo_buildid__format(const struct halo_buildid *id, char buf[2 * HALO_BUILD_ID_MAX + 1]);
/* -EINVAL unless @text is an even number (2 to 40) of hexadecimal digits. */
int halo_buildid__parse(const char *text, struct halo_buildid *id);

const char *halo_reason__text(enum halo_reason reason);
/* What became of the loops of a function that is entered once, or interprets; "" for others. */
const char *halo_loops__text(const struct halo_func *fn);

#endif
