/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_LINK_H
#define OPT_LINK_H

/* From an object to an image that runs at its place in the arena. */
#include "bind.h"
#include "relocs.h"

struct image_function {
	char *name;    /* symbol in the image */
	int64_t vaddr; /* link-time address, without HALO_LINK_BIAS */
	uint64_t size;
};

struct image {
	struct image_function *functions;
	size_t n_functions;
	int64_t entry;
	uint64_t size; /* bytes that it takes at its place */
};

struct link_job {
	const struct halo_prepared *p;
	const struct symbols *symbols;
	const struct relocs *relocs; /* of the object */
	const char *root;	     /* its symbol */
	int64_t place;
	uint64_t room;
	int dir; /* where object.o is, and image.elf will be */
};

/* Run the linker and check what it made. Release with image__free(), on failure too. */
int link__image(const struct link_job *job, struct image *out, struct halo_err *err);
void image__free(struct image *image);

/* Functions that every image brings along if it needs them. */
bool link__has_runtime(const char *name);

/*
 * link_runtime.c: assembly of what the object lacks: stubs for imports, memcpy() and the like, and
 * the program's thread-locals. -ENOENT, naming the symbol: the program does not have it. *text is
 * the caller's to free.
 */
int link__runtime_text(const struct link_job *job, char **text, size_t *len, struct halo_err *err);

/* link_script.c: the linker script. *text is the caller's to free. */
int link__script_text(const struct link_job *job, char **text, size_t *len, struct halo_err *err);

/* Where @name of the object is: entered by the module, or a library function of the compiler's. */
struct place link__place(const struct link_job *job, const char *name);

/* image.c: read and check what the linker made. */
int image__read(int fd, const struct link_job *job, struct image *out, struct halo_err *err);

#endif
