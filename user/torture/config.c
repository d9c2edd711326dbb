// SPDX-License-Identifier: BSD-2-Clause
/* A configuration that is tried, or one that is made up of what each knob can be. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../lib/util.h"
#include "internal.h"

#define FILE_NAME "knobs.json"
#define NAMED	  4 /* one configuration of so many is one of configs.json */

static bool knobs_sane(json_object *knobs)
{
	if (!json_object_is_type(knobs, json_type_object))
		return false;
	json_object_object_foreach(knobs, name, values)
	{
		(void)name;
		if (!json_object_is_type(values, json_type_array) ||
		    !json_object_array_length(values))
			return false;
	}
	return true;
}

int torture__read_knobs(struct torture *t, struct halo_err *err)
{
	char path[PATH_MAX];
	int ret;

	ret = halo_configs__read(t->opts->knobs_dir, &t->configs, err);
	if (ret || !t->opts->knobs_dir)
		return ret;
	snprintf(path, sizeof(path), "%s/" FILE_NAME, t->opts->knobs_dir);
	t->knobs = json_object_from_file(path);
	if (!knobs_sane(t->knobs)) {
		halo_err__set(err, -EINVAL, "%s is no object of lists, or can't be read", path);
		halo_err__remedy(err, "docs/formats/knobs.md says what belongs there");
		return -EINVAL;
	}
	return 0;
}

json_object *torture__choose_config(struct torture *t, struct torture_random *r, char *name,
				    size_t size)
{
	unsigned int named = torture_random__below(r, t->configs.count);
	json_object *config, *value;
	size_t n = 0;

	if (!torture_random__below(r, NAMED) || !t->knobs) {
		snprintf(name, size, "%s", t->configs.item[named].name);
		return json_object_get(t->configs.item[named].json);
	}
	config = json_object_new_object();
	name[0] = '\0';
	json_object_object_foreach(t->knobs, knob, values)
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
