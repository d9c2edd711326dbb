/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_EXPORT_PROFILE_H
#define HALO_EXPORT_PROFILE_H

/*
 * A recording (docs/formats/recording.md), with names: what all the formats of `halo-bpf profile` are
 * written from. Addresses are link-time ones: ip → file offset in the kernel, → PT_LOAD here.
 */
#include <stdio.h>

#include <json-c/json.h>

#include "../lib/err.h"
#include "../lib/figures.h"
#include "../symbols/symbols.h"

/* A file that frames lie in. */
struct profile_object {
	uint32_t exe_id; /* 0: none */
	char *path;
	char build_id[2 * HALO_BUILD_ID_MAX + 1];
	struct halo_symbols *symbols; /* NULL: the file can't be read any more */
};

struct profile_frame {
	uint32_t object; /* as in the recording: an exe_id, HALO_EXE_ARENA may be set; 0: outside */
	uint64_t off;
};

struct profile_context {
	uint64_t count;
	uint8_t quality; /* enum halo_ctx_quality */
	bool cut;
	unsigned int nr;
	struct profile_frame frame[HALO_MAX_FRAMES + 1]; /* leaf first */
};

/* Of the program's own file alone, at link-time addresses; 0: outside of it. */
struct profile_edge {
	uint64_t from, to;
	uint64_t count, mispredicts;
};

struct profile_range {
	uint64_t begin, end; /* first and last instruction */
	uint64_t count;
};

struct profile_variant {
	char *name, *function;
	uint64_t off, size;
};

struct profile {
	json_object *header;
	struct profile_object program;	/* a copy of the one in objects */
	struct profile_object *objects; /* by exe_id */
	size_t n_objects;
	struct profile_variant *variants;
	size_t n_variants;
	struct profile_context *contexts;
	size_t n_contexts;
	struct profile_edge *edges; /* sorted */
	size_t n_edges;
	struct profile_range *ranges; /* sorted, those that can't be true left out */
	size_t n_ranges;
	uint64_t samples;
	uint64_t bad[HALO_FIGURES_MAX]; /* ranges left out, by enum halo_check */
};

/* Read the recording @fd. Freed by profile__free(). */
int profile__read(int fd, struct profile *p, struct halo_err *err);
void profile__free(struct profile *p);

const struct profile_object *profile__object(const struct profile *p, uint32_t exe_id);
/*
 * Of a frame, @caller being set for return addresses: its link-time address in *vaddr (0: not known),
 * its object (NULL: outside), and the name of its function, to be freed; never NULL but out of memory.
 */
char *profile__name(const struct profile *p, const struct profile_frame *frame, bool caller,
		    uint64_t *vaddr, const struct profile_object **object);
const struct profile_variant *profile__variant(const struct profile *p, uint64_t off);

/* The formats. 0 or -errno, -EIO when @out fails. */
int profile__write_folded(const struct profile *p, FILE *out, struct halo_err *err);
int profile__write_json(const struct profile *p, FILE *out, struct halo_err *err);
int profile__write_perfscript(const struct profile *p, FILE *out, struct halo_err *err);
int profile__write_pprof(const struct profile *p, FILE *out, struct halo_err *err);
/* These are made from branches: -ENODATA without. */
int profile__write_bolt(const struct profile *p, FILE *out, struct halo_err *err);
int profile__write_unsymbolized(const struct profile *p, FILE *out, struct halo_err *err);
/* From branches, or else from the sampled addresses. -ENODATA without debug information. */
int profile__write_llvm(const struct profile *p, FILE *out, struct halo_err *err);

#endif
