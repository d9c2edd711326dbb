// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>
#include <unistd.h>

#include "../branches/check.h"
#include "../lib/util.h"
#include "profile.h"

static int64_t get_int(json_object *obj, const char *key)
{
	json_object *val;

	return json_object_object_get_ex(obj, key, &val) ? json_object_get_int64(val) : 0;
}

static const char *get_string(json_object *obj, const char *key)
{
	json_object *val;
	const char *text = json_object_object_get_ex(obj, key, &val) ? json_object_get_string(val)
								     : NULL;

	return text ?: "";
}

/* Room for one more at the end of an array that doubles. */
#define PUSH(array, n)                                                                        \
	({                                                                                    \
		if (!((n) & ((n)-1))) {                                                       \
			void *__v = reallocarray(array, (n) ? 2 * (n) : 1, sizeof(*(array))); \
			if (__v)                                                              \
				(array) = __v;                                                \
			else                                                                  \
				return -ENOMEM;                                               \
		}                                                                             \
		memset(&(array)[n], 0, sizeof(*(array)));                                     \
		&(array)[(n)++];                                                              \
	})

static int add_object(struct profile *p, json_object *obj)
{
	struct profile_object *o = PUSH(p->objects, p->n_objects);
	struct halo_buildid id;
	int fd;

	o->exe_id = get_int(obj, "object");
	o->path = strdup(get_string(obj, "path"));
	snprintf(o->build_id, sizeof(o->build_id), "%s", get_string(obj, "build_id"));
	if (!o->path)
		return -ENOMEM;
	if (halo_buildid__parse(o->build_id, &id))
		return 0;
	fd = halo_symbols__find(o->path, &id, get_int(p->header, "pid"), NULL);
	if (fd < 0)
		return 0;
	halo_symbols__open(fd, o->path, &o->symbols, NULL);
	close(fd);
	return 0;
}

static int add_variant(struct profile *p, json_object *obj)
{
	struct profile_variant *v = PUSH(p->variants, p->n_variants);

	v->name = strdup(get_string(obj, "variant"));
	v->function = strdup(get_string(obj, "function"));
	v->off = get_int(obj, "off");
	v->size = get_int(obj, "size");
	return v->name && v->function ? 0 : -ENOMEM;
}

static int add_context(struct profile *p, json_object *obj, json_object *frames)
{
	struct profile_context *c = PUSH(p->contexts, p->n_contexts);
	size_t n = json_object_array_length(frames) / 2;

	c->count = get_int(obj, "count");
	c->quality = get_int(obj, "quality");
	c->cut = get_int(obj, "cut");
	c->nr = n < HALO_MAX_FRAMES ? n : HALO_MAX_FRAMES;
	for (size_t i = 0; i < c->nr; i++) {
		c->frame[i].object =
			json_object_get_int64(json_object_array_get_idx(frames, 2 * i));
		c->frame[i].off =
			json_object_get_int64(json_object_array_get_idx(frames, 2 * i + 1));
	}
	p->samples += c->count;
	return 0;
}

/* The address in the program's own file; 0: elsewhere. */
static uint64_t own_vaddr(const struct profile *p, uint64_t exe_id, uint64_t off)
{
	uint64_t vaddr;

	if (exe_id != p->program.exe_id || !p->program.symbols ||
	    !halo_symbols__vaddr(p->program.symbols, off, &vaddr))
		return 0;
	return vaddr;
}

static uint64_t at(json_object *array, size_t i)
{
	return json_object_get_int64(json_object_array_get_idx(array, i));
}

static int add_edge(struct profile *p, json_object *obj, json_object *edge)
{
	struct profile_edge *e;
	uint64_t from = own_vaddr(p, at(edge, 0), at(edge, 1));
	uint64_t to = own_vaddr(p, at(edge, 2), at(edge, 3));

	if (!from && !to)
		return 0;
	e = PUSH(p->edges, p->n_edges);
	e->from = from;
	e->to = to;
	e->count = get_int(obj, "count");
	e->mispredicts = get_int(obj, "mispredicts");
	return 0;
}

static const uint8_t *bytes_at(void *ctx, uint64_t vaddr, size_t *size)
{
	return halo_symbols__code(ctx, vaddr, size);
}

static bool function_at(void *ctx, uint64_t vaddr, uint64_t *begin, uint64_t *end)
{
	struct halo_symbol_at symbol;

	if (!halo_symbols__at(ctx, vaddr, &symbol) || !symbol.size)
		return false;
	*begin = symbol.addr;
	*end = symbol.addr + symbol.size;
	return true;
}

static int add_range(struct profile *p, json_object *obj, json_object *range)
{
	const struct halo_code code = {p->program.symbols, bytes_at, function_at};
	uint64_t begin = own_vaddr(p, at(range, 0), at(range, 1));
	uint64_t end = own_vaddr(p, at(range, 0), at(range, 2)), count = get_int(obj, "count");
	struct profile_range *r;
	enum halo_check check;

	if (!begin || !end)
		return 0;
	check = halo_range__check(&code, begin, end);
	if (check != HALO_RANGE_GOOD) {
		p->bad[check] += count;
		if (check != HALO_CHECK_UNCHECKED)
			return 0;
	}
	r = PUSH(p->ranges, p->n_ranges);
	r->begin = begin;
	r->end = end;
	r->count = count;
	return 0;
}

static void find_program(struct profile *p)
{
	const struct profile_object *o;

	if (p->program.exe_id)
		return;
	o = profile__object(p, get_int(p->header, "exe_id"));
	if (o)
		p->program = *o;
}

static int add_line(struct profile *p, json_object *obj)
{
	json_object *val;

	if (!p->header) {
		if (get_int(obj, "recording") != 1)
			return -EPROTO;
		p->header = json_object_get(obj);
		return 0;
	}
	if (json_object_object_get_ex(obj, "object", NULL))
		return add_object(p, obj);
	find_program(p);
	if (json_object_object_get_ex(obj, "variant", NULL))
		return add_variant(p, obj);
	if (json_object_object_get_ex(obj, "frames", &val))
		return add_context(p, obj, val);
	if (json_object_object_get_ex(obj, "edge", &val))
		return add_edge(p, obj, val);
	if (json_object_object_get_ex(obj, "range", &val))
		return add_range(p, obj, val);
	return -EPROTO;
}

static int edge_order(const void *a, const void *b)
{
	const struct profile_edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

static int range_order(const void *a, const void *b)
{
	const struct profile_range *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end);
}

int profile__read(int fd, struct profile *p, struct halo_err *err)
{
	__cleanup_free char *line = NULL;
	size_t room = 0;
	int ret = 0, own = dup(fd);
	FILE *f = own < 0 ? NULL : fdopen(own, "r");

	memset(p, 0, sizeof(*p));
	if (!f) {
		halo__close_fd(&own);
		return halo_err__set(err, -errno, "reading the recording: %m");
	}
	rewind(f);
	while (!ret && getline(&line, &room, f) > 0) {
		json_object *obj = json_tokener_parse(line);

		ret = obj ? add_line(p, obj) : -EPROTO;
		json_object_put(obj);
	}
	fclose(f);
	if (!ret && !p->header)
		ret = -EPROTO;
	if (ret) {
		profile__free(p);
		halo_err__set(err, ret, "reading the recording: %s",
			      ret == -EPROTO ? "it is none of this version" : strerror(-ret));
		return ret;
	}
	find_program(p);
	if (p->n_edges)
		qsort(p->edges, p->n_edges, sizeof(*p->edges), edge_order);
	if (p->n_ranges)
		qsort(p->ranges, p->n_ranges, sizeof(*p->ranges), range_order);
	return 0;
}

void profile__free(struct profile *p)
{
	for (size_t i = 0; i < p->n_objects; i++) {
		free(p->objects[i].path);
		halo_symbols__free(p->objects[i].symbols);
	}
	for (size_t i = 0; i < p->n_variants; i++) {
		free(p->variants[i].name);
		free(p->variants[i].function);
	}
	free(p->objects);
	free(p->variants);
	free(p->contexts);
	free(p->edges);
	free(p->ranges);
	json_object_put(p->header);
	memset(p, 0, sizeof(*p));
}

const struct profile_object *profile__object(const struct profile *p, uint32_t exe_id)
{
	for (size_t i = 0; i < p->n_objects; i++)
		if (p->objects[i].exe_id == exe_id)
			return &p->objects[i];
	return NULL;
}

const struct profile_variant *profile__variant(const struct profile *p, uint64_t off)
{
	for (size_t i = 0; i < p->n_variants; i++)
		if (off >= p->variants[i].off && off - p->variants[i].off < p->variants[i].size)
			return &p->variants[i];
	return NULL;
}

static char *name_in_arena(const struct profile *p, uint64_t off)
{
	const struct profile_variant *v = profile__variant(p, off);
	char *text = NULL, *name;

	if (!v)
		return strdup("[variant]");
	name = halo_symbols__demangle(v->function);
	if (!name || asprintf(&text, "%s [%s]", name, v->name) < 0)
		text = NULL;
	free(name);
	return text;
}

char *profile__name(const struct profile *p, const struct profile_frame *frame, bool caller,
		    uint64_t *vaddr, const struct profile_object **object)
{
	const struct profile_object *o = profile__object(p, frame->object & ~HALO_EXE_ARENA);
	struct halo_symbol_at symbol;
	const char *file;
	char *text;

	*vaddr = 0;
	*object = o;
	if (!o || !frame->object)
		return strdup("[unknown]");
	if (frame->object & HALO_EXE_ARENA)
		return name_in_arena(p, frame->off - caller);
	file = strrchr(o->path, '/') ? strrchr(o->path, '/') + 1 : o->path;
	if (!o->symbols || !halo_symbols__vaddr(o->symbols, frame->off - caller, vaddr)) {
		if (asprintf(&text, "[%s+%#lx]", file, frame->off) < 0)
			return NULL;
		return text;
	}
	if (halo_symbols__at(o->symbols, *vaddr, &symbol))
		text = halo_symbols__demangle(symbol.raw);
	else if (asprintf(&text, "[%s]", file) < 0)
		text = NULL;
	*vaddr += caller;
	return text;
}
