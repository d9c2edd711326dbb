// SPDX-License-Identifier: BSD-2-Clause
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../lib/util.h"
#include "config.h"

#define CONFIGS_FILE "configs.json"
#define KNOBS_FILE   "knobs.json"
#define FILE_MAX     65536

static const char builtin[] = "[{\"name\": \"host\", \"cpu\": \"host\", \"tune\": \"host\","
			      " \"opt\": \"O3\"}]";

/* Names end up in version names and on terminals. */
static bool name_ok(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("-_.", name[i]))
			return false;
	return len > 0 && len < sizeof(((struct halo_configs *)0)->item[0].name);
}

/* -EINVAL: a knob that there is none of, or no value of it. */
static int check_knob(json_object *knobs, const char *knob, json_object *val, const char *origin,
		      size_t number, struct halo_err *err)
{
	json_object *values = NULL;

	if (json_object_is_type(val, json_type_string) &&
	    (!strcmp(knob, "name") || !strcmp(knob, "doc")))
		return 0;
	if (knobs && !json_object_object_get_ex(knobs, knob, &values)) {
		halo_err__set(err, -EINVAL, "%s: configuration %zu has an unknown knob \"%s\"",
			      origin, number, knob);
		halo_err__remedy(err, KNOBS_FILE " beside it lists the knobs");
		return -EINVAL;
	}
	for (size_t i = 0; values && i < json_object_array_length(values); i++)
		if (json_object_equal(json_object_array_get_idx(values, i), val))
			return 0;
	if (!knobs && json_object_is_type(val, json_type_string))
		return 0;
	halo_err__set(err, -EINVAL, "%s: configuration %zu: \"%s\" can't be %s", origin, number,
		      knob, json_object_to_json_string_ext(val, JSON_C_TO_STRING_PLAIN));
	halo_err__remedy(err, KNOBS_FILE " beside it lists what it can be");
	return -EINVAL;
}

static int check(json_object *entry, json_object *knobs, const char *origin, size_t number,
		 struct halo_err *err)
{
	static const char *const needed[] = {"name", "cpu", "tune", "opt"};
	int ret = 0;

	if (!json_object_is_type(entry, json_type_object))
		return halo_err__set(err, -EINVAL, "%s: configuration %zu is not an object", origin,
				     number);
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (!json_object_is_type(json_object_object_get(entry, needed[i]),
					 json_type_string))
			return halo_err__set(err, -EINVAL,
					     "%s: configuration %zu has no string \"%s\"", origin,
					     number, needed[i]);
	if (!name_ok(json_object_get_string(json_object_object_get(entry, "name"))))
		return halo_err__set(err, -EINVAL, "%s: configuration %zu has a bad name", origin,
				     number);
	json_object_object_foreach(entry, knob, val)
		ret = ret ?: check_knob(knobs, knob, val, origin, number, err);
	return ret;
}

static int add(struct halo_configs *out, json_object *entry, const char *origin,
	       struct halo_err *err)
{
	int ret;

	if (out->count == HALO_MAX_CONFIGS)
		return halo_err__set(err, -E2BIG, "%s: more than %d configurations", origin,
				     HALO_MAX_CONFIGS);
	ret = check(entry, out->knobs, origin, out->count, err);
	if (ret)
		return ret;
	snprintf(out->item[out->count].name, sizeof(out->item[0].name), "%s",
		 json_object_get_string(json_object_object_get(entry, "name")));
	out->item[out->count++].json = json_object_get(entry);
	return 0;
}

int halo_configs__parse(const char *text, const char *origin, json_object *knobs,
			struct halo_configs *out, struct halo_err *err)
{
	json_object *list = json_tokener_parse(text);
	int ret = 0;

	memset(out, 0, sizeof(*out));
	out->knobs = json_object_get(knobs);
	if (!json_object_is_type(list, json_type_array))
		ret = halo_err__set(err, -EINVAL, "%s is not a JSON array", origin);
	for (size_t i = 0; !ret && i < json_object_array_length(list); i++)
		ret = add(out, json_object_array_get_idx(list, i), origin, err);
	if (!ret && !out->count)
		ret = halo_err__set(err, -EINVAL, "%s holds no configuration", origin);
	if (ret)
		halo_configs__free(out);
	json_object_put(list);
	return ret;
}

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

/* Text of a file, terminated. */
static int read_text(const char *dir, const char *name, char *text, struct halo_err *err)
{
	__cleanup_fd int fd = -1;
	char path[PATH_MAX];
	ssize_t n;
	int ret;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, FILE_MAX) : -1;
	if (n < 0) {
		ret = halo_err__set(err, -errno, "reading %s: %s", path, strerror(errno));
		halo_err__remedy(err, "give the folder of configurations with --knobs");
		return ret;
	}
	text[n] = '\0';
	return 0;
}

static int read_knobs(const char *dir, char *text, json_object **knobs, struct halo_err *err)
{
	int ret = read_text(dir, KNOBS_FILE, text, err);

	if (ret)
		return ret;
	*knobs = json_tokener_parse(text);
	if (knobs_sane(*knobs))
		return 0;
	json_object_put(*knobs);
	*knobs = NULL;
	halo_err__set(err, -EINVAL, "%s/" KNOBS_FILE " is no object of lists", dir);
	halo_err__remedy(err, "docs/formats/knobs.md says what belongs there");
	return -EINVAL;
}

int halo_configs__read(const char *dir, struct halo_configs *out, struct halo_err *err)
{
	__cleanup_free char *text = NULL;
	json_object *knobs = NULL;
	char origin[PATH_MAX];
	int ret;

	if (!dir)
		return halo_configs__parse(builtin, "the built-in list", NULL, out, err);
	text = malloc(FILE_MAX + 1);
	if (!text)
		return halo_err__set(err, -ENOMEM, "out of memory");
	ret = read_knobs(dir, text, &knobs, err);
	if (!ret)
		ret = read_text(dir, CONFIGS_FILE, text, err);
	snprintf(origin, sizeof(origin), "%s/" CONFIGS_FILE, dir);
	if (!ret)
		ret = halo_configs__parse(text, origin, knobs, out, err);
	json_object_put(knobs);
	return ret;
}

void halo_configs__free(struct halo_configs *configs)
{
	for (size_t i = 0; i < configs->count; i++)
		json_object_put(configs->item[i].json);
	configs->count = 0;
	json_object_put(configs->knobs);
	configs->knobs = NULL;
}
