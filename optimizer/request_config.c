// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../user/lib/util.h"
#include "request_config.h"

struct knob {
	const char *name;
	bool optional;
	const char *values[6]; /* NULL-terminated, the default first; none: any text */
};

enum {
	KNOB_NAME,
	KNOB_DOC,
	KNOB_CPU,
	KNOB_TUNE,
	KNOB_OPT,
	KNOB_VECTORIZE,
	KNOB_SLP,
	KNOB_INTERLEAVE,
	KNOB_UNROLL,
	KNOB_INLINE,
	KNOB_PROFILE,
	KNOB_COUNT
};

/* knobs/knobs.json lists the same, for those who choose. */
static const struct knob knobs[KNOB_COUNT] = {
	[KNOB_NAME] = {"name", false, {NULL}},
	[KNOB_DOC] = {"doc", true, {NULL}},
	[KNOB_CPU] = {"cpu", false, {"shipped", "host"}},
	[KNOB_TUNE] = {"tune", false, {"shipped", "host"}},
	[KNOB_OPT] = {"opt", false, {"O1", "O2", "O3", "Os"}},
	[KNOB_VECTORIZE] = {"vectorize", true, {"on", "off"}},
	[KNOB_SLP] = {"slp", true, {"on", "off"}},
	[KNOB_INTERLEAVE] = {"interleave", true, {"on", "off"}},
	[KNOB_UNROLL] = {"unroll", true, {"on", "off"}},
	[KNOB_INLINE] = {"inline", true, {"default", "0", "75", "500", "2000"}},
	[KNOB_PROFILE] = {"profile", true, {"none", "counts"}},
};

static const struct knob *find_knob(const char *name)
{
	size_t i;

	for (i = 0; i < KNOB_COUNT; i++)
		if (strcmp(knobs[i].name, name) == 0)
			return &knobs[i];
	return NULL;
}

static int unknown_knob(const char *name, struct halo_err *err)
{
	char list[256];
	size_t i, n = 0;

	for (i = 0; i < KNOB_COUNT; i++)
		n += snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "", knobs[i].name);
	halo_err__set(err, -EINVAL, "the configuration has an unknown knob \"%s\"", name);
	halo_err__cause(err, "a mistake in knobs/configs.json");
	halo_err__remedy(err, "the knobs are: %s", list);
	return -EINVAL;
}

static int bad_value(const struct knob *knob, const char *value, struct halo_err *err)
{
	char list[128];
	size_t i, n = 0;

	halo_err__set(err, -EINVAL, "the configuration's knob \"%s\" can't be %s", knob->name,
		      value);
	halo_err__cause(err, "a mistake in knobs/configs.json");
	for (i = 0; knob->values[i]; i++)
		n += snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "", knob->values[i]);
	if (n)
		halo_err__remedy(err, "it is one of: %s", list);
	else
		halo_err__remedy(err, "it is a text");
	return -EINVAL;
}

/* Index of @val in the knob's values; 0 for a knob that takes any text. */
static int value_index(const struct knob *knob, json_object *val, struct halo_err *err)
{
	const char *text = json_object_get_string(val);
	int i;

	if (!json_object_is_type(val, json_type_string))
		return bad_value(knob, text ? text : "null", err);
	if (!knob->values[0])
		return 0;
	for (i = 0; knob->values[i]; i++)
		if (strcmp(knob->values[i], text) == 0)
			return i;
	return bad_value(knob, text, err);
}

static void set(struct request_config *out, const int value[KNOB_COUNT])
{
	static const char *const passes[] = {"default<O1>", "default<O2>", "default<O3>",
					     "default<Os>"};
	static const int levels[] = {1, 2, 3, 2};
	const char *threshold = knobs[KNOB_INLINE].values[value[KNOB_INLINE]];

	out->cpu_host = value[KNOB_CPU];
	out->tune_host = value[KNOB_TUNE];
	out->passes = passes[value[KNOB_OPT]];
	out->level = levels[value[KNOB_OPT]];
	out->vectorize = !value[KNOB_VECTORIZE];
	out->slp = !value[KNOB_SLP];
	out->interleave = !value[KNOB_INTERLEAVE];
	out->unroll = !value[KNOB_UNROLL];
	out->inline_threshold = value[KNOB_INLINE] ? atoi(threshold) : -1;
}

int request_config__parse(json_object *obj, struct request_config *out, struct halo_err *err)
{
	int value[KNOB_COUNT] = {0};
	bool seen[KNOB_COUNT] = {false};
	const struct knob *knob;
	size_t i;

	if (!json_object_is_type(obj, json_type_object))
		return halo_err__set(err, -EINVAL, "bad request: \"config\" is not an object");
	json_object_object_foreach(obj, key, val)
	{
		knob = find_knob(key);
		if (!knob)
			return unknown_knob(key, err);
		i = knob - knobs;
		value[i] = value_index(knob, val, err);
		if (value[i] < 0)
			return value[i];
		seen[i] = true;
		if (i == KNOB_NAME) {
			free(out->name);
			out->name = strdup(json_object_get_string(val));
		}
	}
	for (i = 0; i < KNOB_COUNT; i++)
		if (!seen[i] && !knobs[i].optional)
			return halo_err__set(err, -EINVAL,
					     "the configuration lacks the knob \"%s\"",
					     knobs[i].name);
	set(out, value);
	return out->name ? 0 : halo_err__set(err, -ENOMEM, "out of memory");
}
