/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_OFFER_H
#define HALO_OFFER_H

/* The two messages that a program's stub and whoever attaches it exchange after the hello. */
#include <stddef.h>

#include <halo/attach.h>

/* Without blocking; the descriptors stay the caller's. 0 or -errno. */
int halo_offer__send(int fd, const struct halo_offer *offer, const int fds[HALO_MAP_COUNT]);

/*
 * NULL, or which mapping failed, written to @buf. Such a process keeps its original code, whatever
 * the slots say that it may have.
 */
const char *halo_done__failure(const struct halo_done *done, char *buf, size_t size);

#endif
