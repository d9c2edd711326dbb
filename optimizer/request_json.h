/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_REQUEST_JSON_H
#define OPT_REQUEST_JSON_H

/* What the parts of a request are read with. -EINVAL: of another type, or out of range. */
#include <json-c/json.h>

#include "request.h"

/* The request makes no sense, for the reason @what. Returns -EINVAL. */
int request_json__bad(struct halo_err *err, const char *what);

int request_json__get_u64(json_object *val, uint64_t *out);
/* Those below the program, as images have them, are negative. */
int request_json__get_address(json_object *val, uint64_t *out);
/* -ENOENT when @obj has no such member. */
int request_json__member(json_object *obj, const char *key, enum json_type type, json_object **out);
/* {function, unit, reason}, the last of which may be absent. Release with request_name__free(). */
int request_json__name(json_object *val, struct request_name *out);
void request_name__free(struct request_name *name);

#endif
