/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_CLI_INSPECT_SHOW_H
#define HALO_CLI_INSPECT_SHOW_H

/* What a file carries, for people and as JSON. */
#include <json-c/json.h>

#include "../lib/prepared.h"

struct inspected {
	const char *name; /* as it is shown: a path, or archive(member) */
	const struct halo_prepared *p;
	bool linked; /* else it is an object: no addresses, build-id or hash */
};

int inspect__print(const struct inspected *file, struct halo_err *err);
int inspect__to_json(const struct inspected *file, json_object **out, struct halo_err *err);

#endif
