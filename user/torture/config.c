// SPDX-License-Identifier: BSD-2-Clause
/* A configuration that is tried, or one that is made up of what each knob can be. */
#include <stdio.h>
#include <string.h>

#include "internal.h"

#define NAMED 4 /* one configuration of so many is one of configs.json */

json_object *torture__choose_config(struct torture *t, struct torture_random *r, char *name,
				    size_t size)
{
	unsigned int named = torture_random__below(r, t->configs.count);
	json_object *config, *value;
	size_t n = 0;

	if (!torture_random__below(r, NAMED) || !t->configs.knobs) {
		snprintf(name, size, "%s", t->configs.item[named].name);
		return json_object_get(t->configs.item[named].json);
	}
	config = json_object_new_object();
	name[0] = '\0';
	json_object_object_foreach(t->configs.knobs, knob, values)
	{
		value = json_object_array_get_idx(
			values, torture_random__below(r, json_object_array_length(values)));
		json_object_object_add(config, knob, json_object_get(value));
		n += snprintf(name + n, n < size ? size - n : 0, "%s%s", n ? "/" : "",
			      json_object_get_string(value));
	}
	json_object_object_add(config, "name", json_object_new_string(name));
	return config;
}
