/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_MAPPINGS_H
#define HALO_MAPPINGS_H

#include "core.h"

/*
 * HALO_EVENT_MAPS: a sample found that a process of @p has other executable mappings than the kernel
 * side knows of. Read them, and tell it.
 */
void halo_mappings__read(struct halo_program *p, const struct halo_event *event);

#endif
