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

#define FILE_NAME "configs.json"
#define FILE_MAX  65536

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

static int add(struct halo_configs *out, json_object *entry, const char *origin,
	       struct halo_err *err)
{
	static const char *const keys[] = {"name", "cpu", "tune", "opt"};
	json_object *val, *json;

	if (out->count == HALO_MAX_CONFIGS)
		return halo_err__set(err, -E2BIG, "%s: more than %d configurations", origin,
				     HALO_MAX_CONFIGS);
	if (!json_object_is_type(entry, json_type_object))
		return halo_err__set(err, -EINVAL, "%s: configuration %zu is not an object", origin,
				     out->count);
	json = json_object_new_object();
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!json_object_object_get_ex(entry, keys[i], &val) ||
		    !json_object_is_type(val, json_type_string)) {
			json_object_put(json);
			return halo_err__set(err, -EINVAL,
					     "%s: configuration %zu has no string \"%s\"", origin,
					     out->count, keys[i]);
		}
		json_object_object_add(json, keys[i], json_object_get(val));
	}
	if (json_object_object_get_ex(entry, "profile", &val))
		json_object_object_add(json, "profile", json_object_get(val));
	val = json_object_object_get(json, "name");
	if (!name_ok(json_object_get_string(val))) {
		json_object_put(json);
		return halo_err__set(err, -EINVAL, "%s: configuration %zu has a bad name", origin,
				     out->count);
	}
	snprintf(out->item[out->count].name, sizeof(out->item[0].name), "%s",
		 json_object_get_string(val));
	out->item[out->count++].json = json;
	return 0;
}

int halo_configs__parse(const char *text, const char *origin, struct halo_configs *out,
			struct halo_err *err)
{
	json_object *list = json_tokener_parse(text);
	int ret = 0;

	memset(out, 0, sizeof(*out));
	if (!json_object_is_type(list, json_type_array)) {
		json_object_put(list);
		return halo_err__set(err, -EINVAL, "%s is not a JSON array", origin);
	}
	for (size_t i = 0; !ret && i < json_object_array_length(list); i++)
		ret = add(out, json_object_array_get_idx(list, i), origin, err);
	if (!ret && !out->count)
		ret = halo_err__set(err, -EINVAL, "%s holds no configuration", origin);
	if (ret)
		halo_configs__free(out);
	json_object_put(list);
	return ret;
}

int halo_configs__read(const char *dir, struct halo_configs *out, struct halo_err *err)
{
	__cleanup_free char *text = NULL;
	__cleanup_fd int fd = -1;
	char path[PATH_MAX];
	ssize_t n;

	if (!dir)
		return halo_configs__parse(builtin, "the built-in list", out, err);
	snprintf(path, sizeof(path), "%s/" FILE_NAME, dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	text = calloc(1, FILE_MAX + 1);
	n = fd >= 0 && text ? read(fd, text, FILE_MAX) : -1;
	if (n < 0) {
		halo_err__set(err, -errno, "reading %s: %s", path, strerror(errno));
		halo_err__remedy(err, "give the folder of configurations with --knobs");
		return -errno;
	}
	return halo_configs__parse(text, path, out, err);
}

void halo_configs__free(struct halo_configs *configs)
{
	for (size_t i = 0; i < configs->count; i++)
		json_object_put(configs->item[i].json);
	configs->count = 0;
}
