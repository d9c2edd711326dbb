/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_CLI_JSON_H
#define HALO_CLI_JSON_H

/* Members of an answer; one that is absent or of another type reads as "", 0, or an empty list. */
#include <stdint.h>

#include <json-c/json.h>

const char *js__str(json_object *obj, const char *key);
int64_t js__int(json_object *obj, const char *key);
double js__double(json_object *obj, const char *key);
/* NULL, which all functions here take, if it is absent. */
json_object *js__get(json_object *obj, const char *key);
size_t js__len(json_object *array);
json_object *js__at(json_object *array, size_t i);

#endif
