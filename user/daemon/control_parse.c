// SPDX-License-Identifier: BSD-2-Clause
#include <limits.h>
#include <string.h>

#include "../lib/util.h"
#include "control.h"

#define JSON_DEPTH 8

static int bad(struct halo_err *err, const char *what)
{
	halo_err__set(err, -EINVAL, "bad request: %s", what);
	halo_err__remedy(err, "see docs/formats/control.md");
	return -EINVAL;
}

/* NULL when absent; false when there but no proper string. */
static bool get_string(json_object *obj, const char *key, const char **out)
{
	json_object *val;

	*out = NULL;
	if (!json_object_object_get_ex(obj, key, &val) || !val)
		return true;
	if (!json_object_is_type(val, json_type_string))
		return false;
	*out = json_object_get_string(val);
	return **out && strlen(*out) == (size_t)json_object_get_string_len(val) &&
	       strlen(*out) < PATH_MAX;
}

static bool get_pid(json_object *obj, pid_t *out)
{
	json_object *val;
	int64_t pid;

	*out = 0;
	if (!json_object_object_get_ex(obj, "pid", &val) || !val)
		return true;
	if (!json_object_is_type(val, json_type_int))
		return false;
	pid = json_object_get_int64(val);
	*out = pid;
	return pid > 0 && pid <= INT_MAX;
}

static bool get_seconds(json_object *obj, unsigned int *out)
{
	json_object *val;
	int64_t n;

	if (!json_object_object_get_ex(obj, "seconds", &val) || !val)
		return true;
	n = json_object_is_type(val, json_type_int) ? json_object_get_int64(val) : 0;
	*out = n;
	return n > 0 && n <= 86400;
}

static bool fp_ok(const char *fp)
{
	return !strcmp(fp, "exact") || !strcmp(fp, "contract") || !strcmp(fp, "reassoc");
}

static int parse_args(json_object *args, struct halo_request *out, struct halo_err *err)
{
	struct halo_target *t = &out->target;

	if (!json_object_is_type(args, json_type_object))
		return bad(err, "\"args\" is not an object");
	if (!get_string(args, "path", &t->path) || !get_string(args, "build_id", &t->build_id))
		return bad(err, "\"path\" and \"build_id\" have to be strings");
	if (!get_pid(args, &t->pid))
		return bad(err, "\"pid\" has to be a process id");
	if (!!t->path + !!t->build_id + !!t->pid > 1)
		return bad(err, "more than one of \"path\", \"pid\" and \"build_id\"");
	if (!get_seconds(args, &out->seconds))
		return bad(err, "\"seconds\" has to be a number from 1 to 86400");
	if (!get_string(args, "fp", &out->fp))
		return bad(err, "\"fp\" has to be a string");
	return 0;
}

static int parse_object(json_object *obj, struct halo_request *out, struct halo_err *err)
{
	json_object *args;
	int ret = 0;

	if (!json_object_is_type(obj, json_type_object))
		return bad(err, "not a JSON object");
	if (!get_string(obj, "cmd", &out->cmd) || !out->cmd)
		return bad(err, "no \"cmd\"");
	if (json_object_object_get_ex(obj, "args", &args) && args)
		ret = parse_args(args, out, err);
	if (ret)
		return ret;
	if (!out->fp)
		out->fp = "exact";
	if (!fp_ok(out->fp))
		return bad(err, "\"fp\" is none of exact, contract and reassoc");
	return 0;
}

int halo_control__parse(const char *text, size_t len, struct halo_request *out,
			struct halo_err *err)
{
	struct json_tokener *tok = json_tokener_new_ex(JSON_DEPTH);

	out->json = NULL;
	out->cmd = out->fp = NULL;
	out->target = (struct halo_target){0};
	out->seconds = 0;
	if (!tok || len > INT_MAX) {
		json_tokener_free(tok);
		return halo_err__set(err, -ENOMEM, "out of memory");
	}
	out->json = json_tokener_parse_ex(tok, text, len);
	json_tokener_free(tok);
	return parse_object(out->json, out, err);
}

void halo_control__free_request(struct halo_request *request)
{
	json_object_put(request->json);
	request->json = NULL;
}
