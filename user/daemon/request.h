/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_REQUEST_H
#define HALO_REQUEST_H

#include "core.h"

/*
 * The request to a worker: @s NULL leaves the choice of a section to it. @count: the group whose
 * counters the code is to count in; NULL: it is to be fast. @branches: give it those that were
 * recorded. The caller owns the object.
 */
json_object *halo_request__new(const struct halo_program *p, const struct halo_tuning *s,
			       json_object *config, const struct halo_group *count, bool branches);

/* Whether a configuration is to be compiled with what was counted. */
bool halo_request__wants_profile(json_object *config);

#endif
