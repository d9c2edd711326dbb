/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_DAEMON_STORE_H
#define HALO_DAEMON_STORE_H

/* What arena.c and family.c need of the store beyond attach.h. */
#include <stdbool.h>

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

/* A descriptor through which programs map @arena. */
int halo_arena__open_readonly(struct halo_arena *arena, struct halo_err *err);

#endif
