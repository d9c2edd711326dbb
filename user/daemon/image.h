/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_IMAGE_H
#define HALO_IMAGE_H

/*
 * Reads the image that a worker left: an ELF file of one read-execute segment. A worker is not
 * trusted: whatever doesn't look exactly as expected is refused.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../lib/err.h"

#define HALO_IMAGE_FILE_MAX (256UL << 20)

struct halo_image {
	uint8_t *code; /* the segment's contents; the caller frees */
	uint64_t size;
	uint64_t frames; /* where its .eh_frame_hdr is, 0: it has none */
	int64_t place;	 /* link-time address of its first byte */
};

/*
 * Check the ELF file of @len bytes at @file, which is to run at link-time address @place and take at
 * most @room bytes. @entry must be inside. -EBADMSG with the reason, or -ENOSPC.
 */
int halo_image__parse(const void *file, size_t len, int64_t place, uint64_t room, int64_t entry,
		      struct halo_image *out, struct halo_err *err);

/* The same for the file @name in the folder @dir_fd, which must belong to user @owner. */
int halo_image__read(int dir_fd, const char *name, uid_t owner, int64_t place, uint64_t room,
		     int64_t entry, struct halo_image *out, struct halo_err *err);

void halo_image__free(struct halo_image *image);

#endif
