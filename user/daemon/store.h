/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_DAEMON_STORE_H
#define HALO_DAEMON_STORE_H

/* What arena.c and family.c need of the store beyond attach.h. */
#include <stdbool.h>

#include "../unwind/table.h"
#include "attach.h"

/*
 * Open @name in the store for reading and writing; @flags (O_CREAT, O_EXCL) are added. Returns a
 * descriptor that must never leave the daemon, or -errno.
 */
int halo_store__open_file(struct halo_store *store, const char *name, int flags,
			  struct halo_err *err);
/* Open @name through the read-only clone: a descriptor fit to be given away, or -errno. */
int halo_store__open_readonly(struct halo_store *store, const char *name, struct halo_err *err);
void halo_store__unlink(struct halo_store *store, const char *name);

/* Whether that is the arena's file, by device and inode as /proc/PID/maps has them. */
bool halo_arena__is_mapped(const struct halo_arena *arena, dev_t dev, ino_t ino);

/* The directory, as a descriptor that stays the store's. */
int halo_store__root(const struct halo_store *store);
/* Put @text in the place of what the file holds, or leave that as it is. */
int halo_store__write(struct halo_store *store, const char *name, const char *text,
		      struct halo_err *err);
/* What the file holds, NUL-terminated, to be freed; NULL: not there, or larger than @max. */
char *halo_store__read(struct halo_store *store, const char *name, size_t max);
/* @fn may remove the file. */
void halo_store__each(struct halo_store *store, void (*fn)(void *ctx, const char *name), void *ctx);
/* The file that a process has mapped; false: it is none of the store's. */
struct halo_map;
bool halo_store__find(struct halo_store *store, const struct halo_map *map, char *name,
		      size_t size);
/* Remove what no process has mapped and no record speaks of. */
void halo_store__sweep(struct halo_store *store);

/*
 * Take over the files of a family that an earlier daemon made: @name, and the descriptor of its
 * counters. What the slots hold is for the caller to settle.
 */
int halo_family__adopt(struct halo_store *store, const char *name, int counters_fd,
		       const struct halo_prepared *p, const struct halo_layout *layout,
		       struct halo_family **out, struct halo_err *err);

/* What leads out of the frames of its images. -ENODATA: none of them describes any. */
int halo_arena__unwind(const struct halo_arena *arena, struct halo_unwind_table *out,
		       struct halo_err *err);

/* A descriptor through which programs map @arena. */
int halo_arena__open_readonly(struct halo_arena *arena, struct halo_err *err);

#endif
