// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>

#include "../lib/util.h"
#include "identity.h"
#include "program.h"
#include "handover.h"
#include "store.h"
#include "tuning.h"

#define LOG_TAG "handover"
#include "../lib/log.h"

#define VERSION	   1
#define PREFIX	   "program-"
#define NAME_SIZE  (sizeof(PREFIX) + 64)
#define RECORD_MAX (8 << 20) /* bytes */

static void name_of(const struct halo_program *p, char name[NAME_SIZE])
{
	int len = sprintf(name, PREFIX);

	for (size_t i = 0; i < sizeof(p->hash); i++)
		len += sprintf(name + len, "%02x", p->hash[i]);
}

static void add_string(json_object *obj, const char *key, const char *text)
{
	json_object_object_add(obj, key, json_object_new_string(text));
}

static void add_int(json_object *obj, const char *key, int64_t value)
{
	json_object_object_add(obj, key, json_object_new_int64(value));
}

static void add_func(json_object *obj, const struct halo_func *func)
{
	add_string(obj, "function", func->name);
	add_int(obj, "unit", func->unit);
}

static json_object *save_variant(const struct halo_variant *v)
{
	json_object *obj = json_object_new_object(), *list = json_object_new_array();

	add_string(obj, "name", v->name);
	add_string(obj, "hash", v->hash);
	add_int(obj, "place", v->place);
	add_int(obj, "size", v->size);
	add_int(obj, "entry", v->entry);
	add_int(obj, "code_size", v->code_size);
	add_func(obj, v->root);
	for (size_t i = 0; i < v->n_funcs; i++) {
		json_object *row = json_object_new_object();

		if (v->funcs[i].func)
			add_func(row, v->funcs[i].func);
		add_int(row, "vaddr", v->funcs[i].vaddr);
		add_int(row, "size", v->funcs[i].size);
		json_object_array_add(list, row);
	}
	json_object_object_add(obj, "functions", list);
	return obj;
}

static json_object *save_section(const struct halo_program *p, const struct halo_tuning *s)
{
	json_object *obj = json_object_new_object();

	add_func(obj, s->root);
	add_int(obj, "state", s->state);
	add_string(obj, "reason", s->reason);
	add_int(obj, "adopted", s->adopted ? s->adopted - p->variants : -1);
	json_object_object_add(obj, "speedup", json_object_new_double(s->speedup));
	json_object_object_add(obj, "low", json_object_new_double(s->low));
	json_object_object_add(obj, "high", json_object_new_double(s->high));
	add_int(obj, "pairs", s->pairs);
	add_int(obj, "trials", s->trials);
	add_int(obj, "next_config", s->next_config);
	json_object_object_add(obj, "handled", json_object_new_boolean(s->handled));
	return obj;
}

static json_object *save_program(const struct halo_program *p)
{
	json_object *obj = json_object_new_object();
	json_object *variants = json_object_new_array(), *sections = json_object_new_array();

	add_int(obj, "version", VERSION);
	add_string(obj, "path", p->path);
	add_string(obj, "build_id", p->build_id);
	add_string(obj, "fp", p->fp);
	add_string(obj, "denied", p->denied);
	for (unsigned int i = 0; i < p->n_variants; i++)
		json_object_array_add(variants, save_variant(&p->variants[i]));
	for (unsigned int i = 0; i < p->n_tunings; i++)
		json_object_array_add(sections, save_section(p, &p->tunings[i]));
	add_int(obj, "first_variant", p->first_variant);
	json_object_object_add(obj, "variants", variants);
	json_object_object_add(obj, "sections", sections);
	return obj;
}

void halo_handover__save(struct halo_program *p)
{
	struct halo_err err = {0};
	json_object *obj;
	char name[NAME_SIZE];

	if (!p->unsaved)
		return;
	name_of(p, name);
	obj = save_program(p);
	if (halo_store__write(p->daemon->store, name,
			      json_object_to_json_string_ext(obj, JSON_C_TO_STRING_PLAIN), &err))
		log_warn("%s", err.what);
	json_object_put(obj);
	p->unsaved = false;
}

void halo_handover__remove(const struct halo_program *p)
{
	char name[NAME_SIZE];

	name_of(p, name);
	halo_store__unlink(p->daemon->store, name);
}

/* Records are the daemon's own: what a field lacks is 0 or "". */
static int64_t get_int(json_object *obj, const char *key)
{
	return json_object_get_int64(json_object_object_get(obj, key));
}

static double get_double(json_object *obj, const char *key)
{
	return json_object_get_double(json_object_object_get(obj, key));
}

static const char *get_text(json_object *obj, const char *key)
{
	const char *text = json_object_get_string(json_object_object_get(obj, key));

	return text ? text : "";
}

static json_object *read_record(struct halo_store *store, const char *name)
{
	__cleanup_free char *text = halo_store__read(store, name, RECORD_MAX);
	json_object *obj = text ? json_tokener_parse(text) : NULL;

	if (obj && get_int(obj, "version") == VERSION)
		return obj;
	json_object_put(obj);
	return NULL;
}

static const struct halo_func *load_func(const struct halo_program *p, json_object *obj)
{
	const char *name = get_text(obj, "function");

	return name[0] ? halo_prepared__func(p->prepared, get_int(obj, "unit"), name) : NULL;
}

static bool inside(const struct halo_program *p, int64_t vaddr, uint64_t size)
{
	uint64_t at = (uint64_t)(vaddr - halo_prepared__arena(p->prepared));
	uint64_t used = halo_arena__next(p->arena);

	return at >= HALO_ARENA_FIRST && at < used && size <= used - at;
}

static bool load_variant(struct halo_program *p, json_object *obj)
{
	struct halo_variant *v = &p->variants[p->n_variants];
	json_object *list = json_object_object_get(obj, "functions");
	size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;

	memset(v, 0, sizeof(*v));
	snprintf(v->name, sizeof(v->name), "%s", get_text(obj, "name"));
	snprintf(v->hash, sizeof(v->hash), "%s", get_text(obj, "hash"));
	v->place = get_int(obj, "place");
	v->size = (uint64_t)get_int(obj, "size");
	v->entry = get_int(obj, "entry");
	v->code_size = (uint64_t)get_int(obj, "code_size");
	v->root = load_func(p, obj);
	if (!v->root || !v->root->slot || !inside(p, v->place, v->size) ||
	    (uint64_t)(v->entry - v->place) >= v->size)
		return false;
	v->funcs = calloc(n + 1, sizeof(*v->funcs));
	if (!v->funcs)
		return false;
	for (v->n_funcs = 0; v->n_funcs < n; v->n_funcs++) {
		json_object *row = json_object_array_get_idx(list, v->n_funcs);

		v->funcs[v->n_funcs] = (struct halo_variant_func){
			.func = load_func(p, row),
			.vaddr = get_int(row, "vaddr"),
			.size = (uint64_t)get_int(row, "size"),
		};
	}
	p->n_variants++;
	return true;
}

/* One that was being worked on and had won nothing yet is begun anew, the same code included. */
static void drop_section(struct halo_program *p, const struct halo_func *root)
{
	for (unsigned int i = 0; i < p->n_variants; i++)
		if (p->variants[i].root == root)
			p->variants[i].hash[0] = '\0';
}

static void load_section(struct halo_program *p, json_object *obj)
{
	const struct halo_func *root = load_func(p, obj);
	int64_t adopted = get_int(obj, "adopted");
	bool handled = json_object_get_boolean(json_object_object_get(obj, "handled"));
	struct halo_tuning *s;

	if (!root || !root->slot || adopted >= p->n_variants)
		return;
	if (adopted < 0 && !handled) {
		drop_section(p, root);
		return;
	}
	s = halo_tuning__get(p, root);
	if (!s)
		return;
	s->adopted = adopted < 0 ? NULL : &p->variants[adopted];
	s->state = s->adopted ? HALO_TUNING_ADOPTED : (enum halo_tuning_state)get_int(obj, "state");
	if ((unsigned int)s->state > HALO_TUNING_FAILED)
		s->state = HALO_TUNING_FAILED;
	snprintf(s->reason, sizeof(s->reason), "%s", get_text(obj, "reason"));
	s->speedup = get_double(obj, "speedup");
	s->low = get_double(obj, "low");
	s->high = get_double(obj, "high");
	s->pairs = (unsigned int)get_int(obj, "pairs");
	s->trials = (unsigned int)get_int(obj, "trials");
	s->next_config = (unsigned int)get_int(obj, "next_config");
	s->handled = handled;
	if (!handled)
		p->current = s;
}

static void each(json_object *obj, const char *key, void (*fn)(void *ctx, json_object *item),
		 void *ctx)
{
	json_object *list = json_object_object_get(obj, key);
	size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;

	for (size_t i = 0; i < n; i++)
		fn(ctx, json_object_array_get_idx(list, i));
}

struct loading {
	struct halo_program *p;
	bool failed;
};

static void next_variant(void *ctx, json_object *item)
{
	struct loading *l = ctx;

	if (l->failed || l->p->n_variants == HALO_MAX_VARIANTS || !load_variant(l->p, item))
		l->failed = true;
}

static void next_section(void *ctx, json_object *item)
{
	struct loading *l = ctx;

	load_section(l->p, item);
}

void halo_handover__load(struct halo_program *p)
{
	struct loading l = {.p = p};
	char name[NAME_SIZE];
	json_object *obj;

	name_of(p, name);
	obj = read_record(p->daemon->store, name);
	if (!obj)
		return;
	snprintf(p->denied, sizeof(p->denied), "%s", get_text(obj, "denied"));
	memcpy(p->daemon->known[p->exe_id - 1].denied, p->denied, sizeof(p->denied));
	if (strcmp(get_text(obj, "fp"), p->fp) == 0)
		each(obj, "variants", next_variant, &l);
	else
		l.failed = true;
	p->first_variant = (unsigned int)get_int(obj, "first_variant");
	/* Which variant is which goes by its number. */
	if (l.failed)
		p->first_variant = p->n_variants;
	else
		each(obj, "sections", next_section, &l);
	json_object_put(obj);
}

/* By a running process first: the file at its path may be another by now. */
static int enroll_again(struct halo_daemon *d, json_object *obj, struct halo_err *err)
{
	struct halo_target target = {.path = get_text(obj, "path")};
	const char *fp = get_text(obj, "fp");
	static const char *const policies[] = {"exact", "contract", "reassoc"};
	struct halo_program *p;
	struct halo_buildid id;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(policies) - 1 && strcmp(policies[i], fp); i++)
		;
	if (!halo_buildid__parse(get_text(obj, "build_id"), &id)) {
		target.pid = halo_identity__pid_by_build_id(&id);
		if (target.pid)
			target.path = NULL;
	}
	return halo_program__enroll(d, &target, policies[i], &p, err);
}

static bool is_enrolled(struct halo_daemon *d, const char *name)
{
	char other[NAME_SIZE];
	struct halo_program *p;

	TAILQ_FOREACH(p, &d->programs, link) {
		name_of(p, other);
		if (!strcmp(name, other))
			return true;
	}
	return false;
}

static void restore_one(void *ctx, const char *name)
{
	struct halo_daemon *d = ctx;
	struct halo_err err = {0};
	json_object *obj;

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
		return;
	obj = read_record(d->store, name);
	if (obj && enroll_again(d, obj, &err))
		log_warn("what an earlier daemon had enrolled is not any more: %s", err.what);
	json_object_put(obj);
	if (!is_enrolled(d, name))
		halo_store__unlink(d->store, name);
}

/* Never give the number of a family that is alive. */
static void count_family(void *ctx, const char *name)
{
	struct halo_daemon *d = ctx;
	unsigned int id;

	if (sscanf(name, "slots-%u", &id) == 1 && id > d->next_family)
		d->next_family = id;
}

void halo_handover__restore(struct halo_daemon *d)
{
	halo_store__sweep(d->store);
	halo_store__each(d->store, count_family, d);
	halo_store__each(d->store, restore_one, d);
}
