/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_ADOPT_H
#define HALO_ADOPT_H

/* Processes that an earlier daemon attached, whose files are still in the store. */
#include "core.h"

/*
 * If the process has slots of the store mapped, a group for them; else *out is NULL. -EALREADY: it is
 * attached, but to files that are gone. The group is pending as halo_group__new()'s.
 */
int halo_group__adopt(struct halo_program *p, pid_t pid, const struct halo_layout *layout,
		      struct halo_group **out, struct halo_err *err);

#endif
