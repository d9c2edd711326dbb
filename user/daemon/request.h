/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_REQUEST_H
#define HALO_REQUEST_H

#include "core.h"

/*
 * The request to a worker: @root NULL leaves the choice of a section to it. The caller owns the
 * object.
 */
json_object *halo_request__new(const struct halo_program *p, const struct halo_func *root,
			       json_object *config);

#endif
