/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_UNWINDS_H
#define HALO_UNWINDS_H

/*
 * Unwind tables of the files that sampled processes map. They are compiled one after the other, each
 * in a process of its own that has no privileges: the files are anyone's.
 */
#include "core.h"

struct halo_unwinds;

int halo_unwinds__open(struct halo_daemon *d);
void halo_unwinds__close(struct halo_daemon *d);

/* Have the table of file @exe_id compiled from @fd, which is duplicated. */
void halo_unwinds__add(struct halo_daemon *d, uint32_t exe_id, int fd);
/* The number stands for another file from now on. */
void halo_unwinds__forget(struct halo_daemon *d, uint32_t exe_id);
/* Of an image in the daemon's own memory that can be trusted: the vdso. */
void halo_unwinds__add_image(struct halo_daemon *d, uint32_t exe_id, const void *data, size_t size);
/* Images were added to the program's arena. */
void halo_unwinds__arena(const struct halo_program *p);

#endif
