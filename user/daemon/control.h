/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_CONTROL_H
#define HALO_CONTROL_H

/* The control socket: docs/formats/control.md. */
#include "core.h"
#include "program.h"

int halo_control__open(struct halo_daemon *d, struct halo_control **out, struct halo_err *err);
void halo_control__close(struct halo_control *c);

/* A request as it comes in. The strings belong to @json. */
struct halo_request {
	json_object *json;
	const char *cmd;
	struct halo_target target; /* nothing set: none was given */
	const char *fp;		   /* "exact" unless given */
};

/* Check @len bytes of a peer. -EINVAL, and others, with the reason. */
int halo_control__parse(const char *text, size_t len, struct halo_request *out,
			struct halo_err *err);
void halo_control__free_request(struct halo_request *request);

#endif
