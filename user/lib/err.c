// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "util.h"

static void vfill(char *dst, size_t size, const char *fmt, va_list ap)
{
	vsnprintf(dst, size, fmt, ap);
	halo__clean_text(dst);
}

int halo_err__set(struct halo_err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	memset(err, 0, sizeof(*err));
	err->code = code;
	va_start(ap, fmt);
	vfill(err->what, sizeof(err->what), fmt, ap);
	va_end(ap);
	return code;
}

void halo_err__cause(struct halo_err *err, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return;
	va_start(ap, fmt);
	vfill(err->cause, sizeof(err->cause), fmt, ap);
	va_end(ap);
}

void halo_err__remedy(struct halo_err *err, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return;
	va_start(ap, fmt);
	vfill(err->remedy, sizeof(err->remedy), fmt, ap);
	va_end(ap);
}

int halo_err__wrap(struct halo_err *err, int code, const char *fmt, ...)
{
	char inner[sizeof(err->what)];
	va_list ap;
	size_t n;

	if (!err)
		return code;
	if (!err->code)
		err->code = code;
	memcpy(inner, err->what, sizeof(inner));
	va_start(ap, fmt);
	vfill(err->what, sizeof(err->what), fmt, ap);
	va_end(ap);
	n = strlen(err->what);
	if (inner[0])
		snprintf(err->what + n, sizeof(err->what) - n, ": %s", inner);
	else
		snprintf(err->what + n, sizeof(err->what) - n, ": %s", strerror(-err->code));
	return err->code;
}

json_object *halo_err__to_json(const struct halo_err *err)
{
	json_object *outer = json_object_new_object();
	json_object *inner = json_object_new_object();
	const char *name = strerrorname_np(-err->code);

	json_object_object_add(inner, "code", json_object_new_string(name ? name : "EIO"));
	json_object_object_add(inner, "errno", json_object_new_int(-err->code));
	json_object_object_add(inner, "what", json_object_new_string(err->what));
	json_object_object_add(inner, "cause", json_object_new_string(err->cause));
	json_object_object_add(inner, "remedy", json_object_new_string(err->remedy));
	json_object_object_add(outer, "error", inner);
	return outer;
}

static void copy_member(json_object *obj, const char *key, char *dst, size_t size)
{
	json_object *val;

	dst[0] = '\0';
	if (json_object_object_get_ex(obj, key, &val) && json_object_is_type(val, json_type_string))
		snprintf(dst, size, "%s", json_object_get_string(val));
	halo__clean_text(dst);
}

bool halo_err__from_json(struct halo_err *err, json_object *obj)
{
	json_object *inner, *num;

	if (!json_object_is_type(obj, json_type_object) ||
	    !json_object_object_get_ex(obj, "error", &inner) ||
	    !json_object_is_type(inner, json_type_object))
		return false;
	memset(err, 0, sizeof(*err));
	err->code = -EIO;
	if (json_object_object_get_ex(inner, "errno", &num) && json_object_get_int(num) > 0)
		err->code = -json_object_get_int(num);
	copy_member(inner, "what", err->what, sizeof(err->what));
	copy_member(inner, "cause", err->cause, sizeof(err->cause));
	copy_member(inner, "remedy", err->remedy, sizeof(err->remedy));
	return true;
}

void halo_err__print(const struct halo_err *err)
{
	fprintf(stderr, "Error: %s\n", err->what);
	if (err->cause[0])
		fprintf(stderr, "  cause:  %s\n", err->cause);
	if (err->remedy[0])
		fprintf(stderr, "  remedy: %s\n", err->remedy);
}
