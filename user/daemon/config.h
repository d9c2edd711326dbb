/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_CONFIG_H
#define HALO_CONFIG_H

/* Configurations that the daemon tries on a section, in order: knobs/configs.json. */
#include <stddef.h>

#include <json-c/json.h>

#include "../lib/err.h"

#define HALO_MAX_CONFIGS 16

struct halo_configs {
	struct {
		char name[32];
		json_object *json; /* what the worker gets */
	} item[HALO_MAX_CONFIGS];
	size_t count;
	json_object *knobs; /* name -> list of values, of knobs.json; NULL: built in */
};

/*
 * Read configs.json in @dir, or the built-in ones if @dir is NULL. knobs.json beside it says what there
 * may be in it: another knob or value is -EINVAL. Freed by halo_configs__free().
 */
int halo_configs__read(const char *dir, struct halo_configs *out, struct halo_err *err);
/* From JSON text, for the above. @knobs: NULL for any. */
int halo_configs__parse(const char *text, const char *origin, json_object *knobs,
			struct halo_configs *out, struct halo_err *err);
void halo_configs__free(struct halo_configs *configs);

#endif
