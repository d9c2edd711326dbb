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
};

/* Read configs.json in @dir, or the built-in ones if @dir is NULL. Freed by halo_configs__free(). */
int halo_configs__read(const char *dir, struct halo_configs *out, struct halo_err *err);
/* From JSON text, for the above. */
int halo_configs__parse(const char *text, const char *origin, struct halo_configs *out,
			struct halo_err *err);
void halo_configs__free(struct halo_configs *configs);

#endif
