// SPDX-License-Identifier: BSD-2-Clause
/* Folded stacks, text as of `perf script`, and JSON. */
#include <string.h>

#include "../lib/util.h"
#include "profile.h"

/* What separates frames, ends lines, or would reach a terminal must not come from a name. */
static void clean(char *name)
{
	halo__clean_text(name);
	for (; *name; name++)
		if (*name == ';')
			*name = ':';
}

static int finish(FILE *out)
{
	return ferror(out) ? -EIO : 0;
}

static const char *program_name(const struct profile *p)
{
	const char *path = p->program.path ?: "?", *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "program;main;f": outermost first. The caller frees it; NULL: out of memory. */
static char *fold(const struct profile *p, const char *program, const struct profile_context *c)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	fprintf(f, "%s%s", program, c->cut ? ";[...]" : "");
	for (unsigned int i = c->nr; i-- > 0;) {
		const struct profile_object *object;
		uint64_t vaddr;
		char *name = profile__name(p, &c->frame[i], i > 0, &vaddr, &object);

		if (name)
			clean(name);
		fprintf(f, ";%s", name ?: "[unknown]");
		free(name);
	}
	if (!fclose(f))
		return text;
	free(text);
	return NULL;
}

struct folded {
	char *text;
	uint64_t count;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct folded *)a)->text, ((const struct folded *)b)->text);
}

/* Contexts that differ in addresses alone become one line. */
static void print_merged(FILE *out, struct folded *all, size_t n)
{
	uint64_t sum = 0;

	qsort(all, n, sizeof(*all), by_text);
	for (size_t i = 0; i < n; i++) {
		sum += all[i].count;
		if (i + 1 < n && !strcmp(all[i].text, all[i + 1].text))
			continue;
		fprintf(out, "%s %lu\n", all[i].text, sum);
		sum = 0;
	}
}

int profile__write_folded(const struct profile *p, FILE *out, struct halo_err *err)
{
	__cleanup_free char *program = strdup(program_name(p));
	__cleanup_free struct folded *all = calloc(p->n_contexts + 1, sizeof(*all));
	size_t n = 0;

	if (program)
		clean(program);
	for (; program && all && n < p->n_contexts; n++) {
		all[n].count = p->contexts[n].count;
		all[n].text = fold(p, program, &p->contexts[n]);
		if (!all[n].text)
			break;
	}
	if (n == p->n_contexts && all)
		print_merged(out, all, n);
	for (size_t i = 0; i < n; i++)
		free(all[i].text);
	if (n < p->n_contexts || !program || !all)
		return halo_err__set(err, -ENOMEM, "out of memory");
	return finish(out);
}

int profile__write_perfscript(const struct profile *p, FILE *out, struct halo_err *err)
{
	json_object *pid = NULL, *tier = NULL;

	json_object_object_get_ex(p->header, "pid", &pid);
	json_object_object_get_ex(p->header, "tier", &tier);
	for (size_t i = 0; i < p->n_contexts; i++) {
		const struct profile_context *c = &p->contexts[i];

		/* The count stands where perf has the period. */
		fprintf(out, "%s %d 0.000000: %10lu %s:\n", program_name(p),
			json_object_get_int(pid), c->count,
			tier ? json_object_get_string(tier) : "samples");
		for (unsigned int j = 0; j < c->nr; j++) {
			const struct profile_object *object;
			uint64_t vaddr;
			__cleanup_free char *name = profile__name(p, &c->frame[j], j > 0, &vaddr,
								  &object);

			if (!name)
				return halo_err__set(err, -ENOMEM, "out of memory");
			halo__clean_text(name);
			fprintf(out, "\t%16lx %s (%s)\n", vaddr, name,
				object ? object->path : "[unknown]");
		}
		fprintf(out, "\n");
	}
	return finish(out);
}

static json_object *new_frame(const struct profile *p, const struct profile_frame *frame,
			      bool caller)
{
	const struct profile_object *object;
	json_object *obj = json_object_new_object();
	const char *file;
	unsigned int line;
	uint64_t vaddr;
	char *name = profile__name(p, frame, caller, &vaddr, &object);

	json_object_object_add(obj, "function", json_object_new_string(name ?: "[unknown]"));
	free(name);
	if (!object || !frame->object)
		return obj;
	json_object_object_add(obj, "object", json_object_new_string(object->path));
	json_object_object_add(obj, "build_id", json_object_new_string(object->build_id));
	json_object_object_add(obj, "off", json_object_new_int64(frame->off));
	if (!vaddr)
		return obj;
	json_object_object_add(obj, "vaddr", json_object_new_int64(vaddr));
	if (halo_symbols__line(object->symbols, vaddr - caller, &file, &line)) {
		json_object_object_add(obj, "file", json_object_new_string(file));
		json_object_object_add(obj, "line", json_object_new_int64(line));
	}
	return obj;
}

static json_object *new_context(const struct profile *p, const struct profile_context *c)
{
	static const char *const quality[] = {"?", "leaf", "frame pointers", "mended"};
	json_object *obj = json_object_new_object(), *frames = json_object_new_array();

	json_object_object_add(obj, "count", json_object_new_int64(c->count));
	json_object_object_add(obj, "quality",
			       json_object_new_string(c->quality < ARRAY_SIZE(quality)
							      ? quality[c->quality]
							      : "call frame information"));
	json_object_object_add(obj, "cut", json_object_new_boolean(c->cut));
	for (unsigned int i = 0; i < c->nr; i++)
		json_object_array_add(frames, new_frame(p, &c->frame[i], i > 0));
	json_object_object_add(obj, "frames", frames);
	return obj;
}

static json_object *new_branches(const struct profile *p)
{
	json_object *obj = json_object_new_object();
	json_object *edges = json_object_new_array(), *ranges = json_object_new_array();

	for (size_t i = 0; i < p->n_edges; i++) {
		const struct profile_edge *e = &p->edges[i];
		json_object *edge = json_object_new_object();

		json_object_object_add(edge, "from", json_object_new_int64(e->from));
		json_object_object_add(edge, "to", json_object_new_int64(e->to));
		json_object_object_add(edge, "count", json_object_new_int64(e->count));
		json_object_object_add(edge, "mispredicts", json_object_new_int64(e->mispredicts));
		json_object_array_add(edges, edge);
	}
	for (size_t i = 0; i < p->n_ranges; i++) {
		const struct profile_range *r = &p->ranges[i];
		json_object *range = json_object_new_object();

		json_object_object_add(range, "begin", json_object_new_int64(r->begin));
		json_object_object_add(range, "end", json_object_new_int64(r->end));
		json_object_object_add(range, "count", json_object_new_int64(r->count));
		json_object_array_add(ranges, range);
	}
	json_object_object_add(obj, "edges", edges);
	json_object_object_add(obj, "ranges", ranges);
	for (int i = HALO_CHECK_FIRST + 1; i < HALO_FIGURES_MAX; i++)
		json_object_object_add(obj, halo_figures[i].key, json_object_new_int64(p->bad[i]));
	return obj;
}

int profile__write_json(const struct profile *p, FILE *out, struct halo_err *err)
{
	json_object *obj = json_object_new_object(), *contexts = json_object_new_array();

	(void)err;
	json_object_object_foreach(p->header, key, val)
		json_object_object_add(obj, key, json_object_get(val));
	for (size_t i = 0; i < p->n_contexts; i++)
		json_object_array_add(contexts, new_context(p, &p->contexts[i]));
	json_object_object_add(obj, "samples", json_object_new_int64(p->samples));
	json_object_object_add(obj, "contexts", contexts);
	json_object_object_add(obj, "branches", new_branches(p));
	fprintf(out, "%s\n",
		json_object_to_json_string_ext(obj, JSON_C_TO_STRING_PLAIN |
							    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(obj);
	return finish(out);
}
