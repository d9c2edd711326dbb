// SPDX-License-Identifier: BSD-2-Clause
#include "json.h"

json_object *js__get(json_object *obj, const char *key)
{
	json_object *val = NULL;

	if (json_object_is_type(obj, json_type_object))
		json_object_object_get_ex(obj, key, &val);
	return val;
}

const char *js__str(json_object *obj, const char *key)
{
	json_object *val = js__get(obj, key);

	return json_object_is_type(val, json_type_string) ? json_object_get_string(val) : "";
}

int64_t js__int(json_object *obj, const char *key)
{
	return json_object_get_int64(js__get(obj, key));
}

double js__double(json_object *obj, const char *key)
{
	return json_object_get_double(js__get(obj, key));
}

size_t js__len(json_object *array)
{
	return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

json_object *js__at(json_object *array, size_t i)
{
	return json_object_array_get_idx(array, i);
}
