// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "request_json.h"

int request_json__bad(struct halo_err *err, const char *what)
{
	halo_err__set(err, -EINVAL, "bad request: %s", what);
	halo_err__cause(err, "the daemon and halo-opt are of different versions");
	halo_err__remedy(err, "install both from the same build");
	return -EINVAL;
}

int request_json__get_u64(json_object *val, uint64_t *out)
{
	if (!json_object_is_type(val, json_type_int))
		return -EINVAL;
	if (json_object_get_int64(val) < 0)
		return -EINVAL;
	*out = json_object_get_uint64(val);
	return 0;
}

int request_json__get_address(json_object *val, uint64_t *out)
{
	if (!json_object_is_type(val, json_type_int))
		return -EINVAL;
	*out = (uint64_t)json_object_get_int64(val);
	return 0;
}

int request_json__member(json_object *obj, const char *key, enum json_type type, json_object **out)
{
	if (!json_object_object_get_ex(obj, key, out))
		return -ENOENT;
	return json_object_is_type(*out, type) ? 0 : -EINVAL;
}

int request_json__name(json_object *val, struct request_name *out)
{
	json_object *function, *unit, *reason = NULL;
	uint64_t n;

	if (!json_object_is_type(val, json_type_object) ||
	    request_json__member(val, "function", json_type_string, &function) ||
	    request_json__member(val, "unit", json_type_int, &unit) ||
	    request_json__get_u64(unit, &n) || n > INT32_MAX)
		return -EINVAL;
	if (request_json__member(val, "reason", json_type_string, &reason) == -EINVAL)
		return -EINVAL;
	out->unit = n;
	out->function = strdup(json_object_get_string(function));
	out->reason = strdup(reason ? json_object_get_string(reason) : "");
	return out->function && out->reason ? 0 : -ENOMEM;
}

void request_name__free(struct request_name *name)
{
	free(name->function);
	free(name->reason);
}
