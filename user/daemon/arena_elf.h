/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_DAEMON_ARENA_ELF_H
#define HALO_DAEMON_ARENA_ELF_H

/*
 * An arena's file as an ELF file, whose addresses are its offsets: perf and debuggers read names and
 * frame descriptions of the code in it as of any shared object's. Both only grow, as the arena does. A
 * reader meanwhile sees the sections as they were before, or after, since their sizes come last.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../lib/err.h"

#define HALO_ARENA_HEADER \
	2048 /* offset of the daemon's own header; the ELF headers are before it */

/* What is in the sections so far. Kept in the arena's header, for a later daemon. */
struct arena_names {
	uint32_t symbols; /* the empty first one is counted */
	uint32_t strings; /* bytes; the empty first one is counted */
	uint32_t frames;  /* bytes of .eh_frame */
	uint32_t rows;	  /* of .eh_frame_hdr */
	uint32_t edition; /* changes with each image, and the build-id with it */
	uint8_t id[16];
};

/* Of a new arena. */
void arena_elf__begin(struct arena_names *names);
bool arena_elf__valid(const struct arena_names *names);

struct halo_arena_name;

/* Names that there is no room for are left out. 0 or -errno. */
int arena_elf__add_symbols(int fd, struct arena_names *names, const struct halo_arena_name *list,
			   size_t n);
/*
 * Copy the frame descriptions that the .eh_frame_hdr at @hdr in @code leads to. @code lies at
 * offset @off of the file. What has another form than linkers for x86-64 give it is left out.
 */
int arena_elf__add_frames(int fd, struct arena_names *names, uint64_t off, const uint8_t *code,
			  size_t len, uint64_t hdr);
/* Write the headers: all that was added can be seen from now on. @end: of the images. */
int arena_elf__publish(int fd, const struct arena_names *names, uint64_t end);

/* All of @len bytes. */
int arena_elf__write(int fd, const void *buf, size_t len, uint64_t off);

#endif
