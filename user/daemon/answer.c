// SPDX-License-Identifier: BSD-2-Clause
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "../lib/util.h"
#include "answer.h"
#include "attach.h"

#define JSON_DEPTH 16
#define TEXT_MAX   200 /* bytes kept of a string that people will read */

static int bad(struct halo_err *err, const char *what)
{
	return halo_err__set(err, -EBADMSG, "the worker's answer: %s", what);
}

static const char *get_string(json_object *obj, const char *key)
{
	json_object *val;

	if (!json_object_object_get_ex(obj, key, &val) ||
	    !json_object_is_type(val, json_type_string) ||
	    strlen(json_object_get_string(val)) != (size_t)json_object_get_string_len(val))
		return NULL;
	return json_object_get_string(val);
}

static bool get_int(json_object *obj, const char *key, int64_t *out)
{
	json_object *val;

	if (!json_object_object_get_ex(obj, key, &val) || !json_object_is_type(val, json_type_int))
		return false;
	*out = json_object_get_int64(val);
	return true;
}

/* Copy for people: bounded, and no byte that a terminal would act on. */
static void copy_text(char *dst, size_t size, const char *src)
{
	size_t i;

	for (i = 0; i + 1 < size && src[i]; i++)
		dst[i] = (unsigned char)src[i] < ' ' || src[i] == 0x7f ? ' ' : src[i];
	dst[i] = '\0';
}

static void add_text(json_object *obj, const char *key, json_object *from)
{
	const char *text = get_string(from, key);
	char clean[TEXT_MAX];

	copy_text(clean, sizeof(clean), text ? text : "");
	json_object_object_add(obj, key, json_object_new_string(clean));
}

static json_object *clean_considered(json_object *list)
{
	json_object *out = json_object_new_array();
	size_t n = json_object_array_length(list);

	for (size_t i = 0; i < n && i < HALO_ANSWER_CHOICE_MAX; i++) {
		json_object *from = json_object_array_get_idx(list, i);
		json_object *row, *share;
		int64_t unit;

		if (!json_object_is_type(from, json_type_object))
			continue;
		row = json_object_new_object();
		add_text(row, "function", from);
		if (get_int(from, "unit", &unit))
			json_object_object_add(row, "unit", json_object_new_int64(unit));
		if (json_object_object_get_ex(from, "share", &share))
			json_object_object_add(
				row, "share",
				json_object_new_double(json_object_get_double(share)));
		add_text(row, "verdict", from);
		add_text(row, "reason", from);
		json_object_array_add(out, row);
	}
	return out;
}

static const struct halo_func *find_func(const struct halo_prepared *p, json_object *obj)
{
	const char *name = get_string(obj, "function");
	int64_t unit;

	if (!name || !get_int(obj, "unit", &unit) || unit < -1 || unit >= (int64_t)p->n_units)
		return NULL;
	return halo_prepared__func(p, unit, name);
}

static int parse_root(json_object *obj, const struct halo_prepared *p, struct halo_answer *out,
		      struct halo_err *err)
{
	int64_t vaddr, slot;
	json_object *root;

	if (!json_object_object_get_ex(obj, "root", &root) ||
	    !json_object_is_type(root, json_type_object))
		return bad(err, "no root");
	out->root = find_func(p, root);
	if (!out->root)
		return bad(err, "its root is no function of the program");
	if (!out->root->slot)
		return bad(err, "its root has no slot");
	if (!get_int(root, "vaddr", &vaddr) || !get_int(root, "slot", &slot) ||
	    (uint64_t)vaddr != out->root->addr || (uint64_t)slot != out->root->slot)
		return bad(err, "its root's address or slot is not the program's");
	return 0;
}

static bool inside(int64_t vaddr, uint64_t size, int64_t place, uint64_t room)
{
	uint64_t at = (uint64_t)vaddr - (uint64_t)place; /* below place becomes huge */

	return at < room && size <= room - at;
}

static int parse_funcs(json_object *obj, const struct halo_prepared *p, int64_t place,
		       uint64_t room, struct halo_answer *out, struct halo_err *err)
{
	json_object *list;
	size_t n;

	if (!json_object_object_get_ex(obj, "functions", &list) ||
	    !json_object_is_type(list, json_type_array))
		return bad(err, "no list of functions");
	n = json_object_array_length(list);
	if (!n || n > HALO_ANSWER_FUNCS_MAX)
		return bad(err, "no functions, or too many");
	out->funcs = calloc(n, sizeof(*out->funcs));
	if (!out->funcs)
		return halo_err__set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		json_object *item = json_object_array_get_idx(list, i);
		struct halo_answer_func *f = &out->funcs[i];
		json_object *val;
		int64_t size;

		if (!json_object_is_type(item, json_type_object) ||
		    !get_int(item, "vaddr", &f->vaddr) || !get_int(item, "size", &size))
			return bad(err, "a function without address or size");
		if (size < 0 || !inside(f->vaddr, size, place, room))
			return bad(err, "a function outside of the image");
		f->func = find_func(p, item);
		if (!f->func && get_string(item, "function"))
			f->name = strdup(get_string(item, "function"));
		out->n_funcs = i + 1;
		f->size = size;
		f->entry = json_object_object_get_ex(item, "entry", &val) &&
			   json_object_get_boolean(val) && f->func && f->func->slot;
	}
	return 0;
}

static int parse_counted(json_object *obj, struct halo_counted *out, struct halo_err *err)
{
	int64_t counters, copies, stride, sites;
	json_object *counted, *map;

	if (!json_object_object_get_ex(obj, "counted", &counted))
		return 0;
	if (!json_object_is_type(counted, json_type_object) ||
	    !get_int(counted, "counters", &counters) || !get_int(counted, "copies", &copies) ||
	    !get_int(counted, "stride", &stride) || !get_int(counted, "sites", &sites) ||
	    !json_object_object_get_ex(counted, "map", &map) ||
	    !json_object_is_type(map, json_type_object))
		return bad(err, "what it counts is not told");
	if (counters < HALO_COUNTERS_FIRST || counters > stride / 8 || copies < 1 || stride < 0 ||
	    stride % 8 || sites < 0 || copies > (int64_t)HALO_COUNTS_SIZE ||
	    stride > (int64_t)HALO_COUNTS_SIZE || sites > (int64_t)HALO_COUNTS_SIZE ||
	    copies * stride + sites * HALO_COUNTS_SITE > (int64_t)HALO_COUNTS_SIZE)
		return bad(err, "it counts where there are no counters");
	*out = (struct halo_counted){counters, copies, stride, sites, json_object_get(map)};
	return 0;
}

static int parse_ok(json_object *obj, const struct halo_prepared *p, int64_t place, uint64_t room,
		    struct halo_answer *out, struct halo_err *err)
{
	const char *image = get_string(obj, "image");
	const char *hash = get_string(obj, "hash");
	int64_t code_size;
	int ret;

	ret = parse_root(obj, p, out, err);
	if (!ret)
		ret = parse_funcs(obj, p, place, room, out, err);
	if (ret)
		return ret;
	if (!get_int(obj, "entry", &out->entry) || !inside(out->entry, 1, place, room))
		return bad(err, "its entry is outside of the image");
	if (!image || strcmp(image, "image.elf"))
		return bad(err, "its image has another name than image.elf");
	if (!hash || strlen(hash) != 64 || strspn(hash, "0123456789abcdef") != 64)
		return bad(err, "its hash is no SHA-256");
	memcpy(out->hash, hash, sizeof(out->hash));
	if (!get_int(obj, "code_size", &code_size) || code_size <= 0 || (uint64_t)code_size > room)
		return bad(err, "its code size is out of range");
	out->code_size = code_size;
	return parse_counted(obj, &out->counted, err);
}

/* What an answer without code is about; NULL where it names none. */
static const struct halo_func *optional_root(json_object *obj, const struct halo_prepared *p)
{
	json_object *root;

	if (!json_object_object_get_ex(obj, "root", &root) ||
	    !json_object_is_type(root, json_type_object))
		return NULL;
	return find_func(p, root);
}

static int parse_error(json_object *obj, const struct halo_prepared *p, struct halo_answer *out,
		       struct halo_err *err)
{
	struct halo_err raw;

	if (!halo_err__from_json(&raw, obj))
		return bad(err, "status error without an error");
	out->error.code = raw.code;
	copy_text(out->error.what, sizeof(out->error.what), raw.what);
	copy_text(out->error.cause, sizeof(out->error.cause), raw.cause);
	copy_text(out->error.remedy, sizeof(out->error.remedy), raw.remedy);
	out->root = optional_root(obj, p);
	return 0;
}

static int parse_object(json_object *obj, const struct halo_prepared *p, int64_t place,
			uint64_t room, struct halo_answer *out, struct halo_err *err)
{
	const char *status = get_string(obj, "status");
	const char *reason = get_string(obj, "reason");
	json_object *list;

	if (json_object_object_get_ex(obj, "considered", &list) &&
	    json_object_is_type(list, json_type_array))
		out->considered = clean_considered(list);
	if (!status)
		return bad(err, "no status");
	if (!strcmp(status, "ok"))
		return parse_ok(obj, p, place, room, out, err);
	if (!strcmp(status, "none")) {
		out->status = HALO_ANSWER_NONE;
		out->root = optional_root(obj, p);
		copy_text(out->reason, sizeof(out->reason), reason ? reason : "no reason given");
		return 0;
	}
	if (strcmp(status, "error"))
		return bad(err, "an unknown status");
	out->status = HALO_ANSWER_ERROR;
	return parse_error(obj, p, out, err);
}

int halo_answer__parse(const char *text, size_t len, const struct halo_prepared *p, int64_t place,
		       uint64_t room, struct halo_answer *out, struct halo_err *err)
{
	struct json_tokener *tok;
	json_object *obj = NULL;
	int ret;

	memset(out, 0, sizeof(*out));
	if (len > HALO_ANSWER_MAX)
		return bad(err, "too long");
	tok = json_tokener_new_ex(JSON_DEPTH);
	if (!tok)
		return halo_err__set(err, -ENOMEM, "out of memory");
	obj = json_tokener_parse_ex(tok, text, len);
	if (!json_object_is_type(obj, json_type_object))
		ret = bad(err, len ? "not a JSON object" : "empty");
	else
		ret = parse_object(obj, p, place, room, out, err);
	json_object_put(obj);
	json_tokener_free(tok);
	return ret;
}

void halo_answer__free(struct halo_answer *a)
{
	for (size_t i = 0; i < a->n_funcs; i++)
		free(a->funcs[i].name);
	free(a->funcs);
	a->funcs = NULL;
	a->n_funcs = 0;
	json_object_put(a->considered);
	a->considered = NULL;
	json_object_put(a->counted.map);
	a->counted.map = NULL;
}
