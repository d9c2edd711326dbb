/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_REQUEST_CONFIG_H
#define OPT_REQUEST_CONFIG_H

#include "request.h"

/*
 * Check one entry of knobs/configs.json (docs/formats/knobs.md). An unknown knob or value is an
 * error whose remedy lists the right ones. out->name is the caller's to free, on failure too.
 */
int request_config__parse(json_object *obj, struct request_config *out, struct halo_err *err);

#endif
