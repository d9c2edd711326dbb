/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_DAEMON_NAMES_H
#define HALO_DAEMON_NAMES_H

/*
 * Gives code in the arena its names, for debuggers, profilers and backtraces. Code without names runs as
 * well, so a failure is only logged.
 */
#include "answer.h"
#include "attach.h"

/* The functions of an image that was written. */
void halo_names__image(struct halo_arena *arena, const struct halo_prepared *p,
		       const struct halo_answer *answer);
/* @size bytes of counting entries of @func, at offset @off of the arena. */
void halo_names__entries(struct halo_arena *arena, uint64_t off, uint64_t size,
			 const struct halo_func *func);

#endif
