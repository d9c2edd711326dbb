/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_COMMANDS_H
#define HALO_COMMANDS_H

#include "control.h"
#include "core.h"

/* Do what is asked: the answer, or NULL and an error. *stop: the daemon is to end. */
json_object *halo_command__run(struct halo_daemon *d, const struct halo_request *request,
			       bool *stop, struct halo_err *err);

/* Parts of answers; the caller owns them. */
json_object *halo_status__all(struct halo_daemon *d);
json_object *halo_status__program(const struct halo_program *p);
json_object *halo_status__list(struct halo_daemon *d);
json_object *halo_status__sections(const struct halo_program *p);
json_object *halo_explain__program(const struct halo_program *p);

#endif
