// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "answer.h"

static void put(json_object *obj, const char *key, json_object *val)
{
	json_object_object_add(obj, key, val);
}

static void put_text(json_object *obj, const char *key, const char *text)
{
	put(obj, key, json_object_new_string(text));
}

static void put_number(json_object *obj, const char *key, int64_t number)
{
	put(obj, key, json_object_new_int64(number));
}

static void put_rounded(json_object *obj, const char *key, double number, const char *format)
{
	char text[32];

	snprintf(text, sizeof(text), format, number);
	put(obj, key, json_object_new_double_s(number, text));
}

static json_object *with_status(const char *status)
{
	json_object *obj = json_object_new_object();

	put_text(obj, "status", status);
	return obj;
}

json_object *answer__error(const struct halo_err *err)
{
	json_object *obj = with_status("error"), *outer = halo_err__to_json(err), *inner;

	if (json_object_object_get_ex(outer, "error", &inner))
		put(obj, "error", json_object_get(inner));
	json_object_put(outer);
	return obj;
}

static void put_considered(json_object *obj, const struct choice *choice)
{
	json_object *list = json_object_new_array(), *entry;
	size_t i;

	for (i = 0; choice && i < choice->n_considered; i++) {
		const struct considered *c = &choice->considered[i];

		entry = json_object_new_object();
		put_text(entry, "function", c->function);
		put_number(entry, "unit", c->unit);
		put_rounded(entry, "share", c->share, "%.4f");
		put_text(entry, "verdict", c->verdict);
		put_text(entry, "reason", c->reason);
		json_object_array_add(list, entry);
	}
	put(obj, "considered", list);
}

static void put_root(json_object *obj, const struct halo_func *root)
{
	json_object *out = json_object_new_object();

	put_text(out, "function", root->name);
	put_number(out, "unit", root->unit);
	put_number(out, "vaddr", (int64_t)root->addr);
	put_number(out, "slot", (int64_t)root->slot);
	put(obj, "root", out);
}

json_object *answer__none(const struct choice *choice, const char *reason)
{
	json_object *obj = with_status("none");

	put_text(obj, "reason", reason);
	if (choice->root)
		put_root(obj, choice->root);
	put_considered(obj, choice);
	return obj;
}

/* The member that a symbol of the image is, or was split off from ("name.cold.1"); or NULL. */
static const struct member *member_of(const struct section *section, const char *symbol)
{
	const struct member *best = NULL;
	size_t i, len, best_len = 0;
	char name[4096];

	for (i = 0; i < section->n_members; i++) {
		bind__member_name(&section->members[i], name, sizeof(name));
		len = strlen(name);
		if (len > best_len && strncmp(symbol, name, len) == 0 &&
		    (symbol[len] == '\0' || symbol[len] == '.')) {
			best = &section->members[i];
			best_len = len;
		}
	}
	return best;
}

/* Is the symbol a root itself, rather than something that was split off it? */
static bool is_entry(const struct section *section, const struct member *m, const char *symbol)
{
	char name[4096];

	if (!m || m - section->members >= (ptrdiff_t)section->n_roots)
		return false;
	bind__member_name(m, name, sizeof(name));
	return strcmp(symbol, name) == 0;
}

static void put_functions(json_object *obj, const struct section *section,
			  const struct image *image)
{
	json_object *list = json_object_new_array(), *entry;
	const struct member *m;
	size_t i;

	for (i = 0; i < image->n_functions; i++) {
		m = member_of(section, image->functions[i].name);
		entry = json_object_new_object();
		put_text(entry, "function", m ? m->name : image->functions[i].name);
		put_number(entry, "unit", m ? (int64_t)m->unit : -1);
		put_number(entry, "vaddr", image->functions[i].vaddr);
		put_number(entry, "size", (int64_t)image->functions[i].size);
		if (is_entry(section, m, image->functions[i].name))
			put(entry, "entry", json_object_new_boolean(true));
		json_object_array_add(list, entry);
	}
	put(obj, "functions", list);
}

static void put_features(json_object *obj, const struct section *section)
{
	json_object *out = json_object_new_object();
	int64_t loops = 0, instructions = 0;
	size_t i;

	for (i = 0; i < section->n_members; i++) {
		loops += section->members[i].facts.loops;
		instructions += section->members[i].facts.instructions;
	}
	put_number(out, "functions", (int64_t)section->n_members);
	put_number(out, "loops", loops);
	put_number(out, "instructions", instructions);
	put(obj, "features", out);
}

static void put_times(json_object *obj, const struct answer_times *times)
{
	json_object *out = json_object_new_object();

	put_rounded(out, "read", times->read, "%.1f");
	put_rounded(out, "section", times->section, "%.1f");
	put_rounded(out, "optimize", times->optimize, "%.1f");
	put_rounded(out, "emit", times->emit, "%.1f");
	put_rounded(out, "link", times->link, "%.1f");
	put(obj, "ms", out);
}

static json_object *new_counted(const struct request_counted *f)
{
	json_object *out = json_object_new_object(), *sites = json_object_new_array();
	char hash[17];

	snprintf(hash, sizeof(hash), "%016" PRIx64, f->hash);
	put_text(out, "name", f->name);
	put_text(out, "hash", hash);
	put_number(out, "first", f->first);
	put_number(out, "count", f->n);
	put_number(out, "first_site", f->first_site);
	for (size_t k = 0; k < REQUEST_KINDS; k++)
		json_object_array_add(sites, json_object_new_int64(f->sites[k]));
	put(out, "sites", sites);
	return out;
}

static json_object *new_members(const struct section *section)
{
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < section->n_members; i++) {
		json_object *entry = json_object_new_object();

		put_text(entry, "function", section->members[i].name);
		put_number(entry, "unit", section->members[i].unit);
		json_object_array_add(list, entry);
	}
	return list;
}

static json_object *new_map(const struct section *section, const struct request_counted *f,
			    size_t n)
{
	json_object *out = json_object_new_object(), *functions = json_object_new_array();

	for (size_t i = 0; i < n; i++)
		json_object_array_add(functions, new_counted(&f[i]));
	put(out, "members", new_members(section));
	put(out, "functions", functions);
	return out;
}

/* As member "profile" of a request has it, without values. */
static void put_inferred(json_object *obj, const struct section *section,
			 const struct request_profile *profile)
{
	json_object *inferred = json_object_new_object(), *counts = json_object_new_array();

	for (size_t i = 0; i < profile->n_counts; i++)
		json_object_array_add(counts, json_object_new_int64((int64_t)profile->counts[i]));
	put(inferred, "map", new_map(section, profile->functions, profile->n_functions));
	put(inferred, "counts", counts);
	put(obj, "inferred", inferred);
}

static void put_map(json_object *obj, const struct section *section, const struct pgo_map *map)
{
	json_object *counted = json_object_new_object();

	put_number(counted, "counters", map->n_counters);
	put_number(counted, "copies", map->copies);
	put_number(counted, "stride", map->stride);
	put_number(counted, "sites", map->n_sites);
	put(counted, "map", new_map(section, map->functions, map->n_functions));
	put(obj, "counted", counted);
}

json_object *answer__ok(const struct choice *choice, const struct image *image,
			const uint8_t hash[32], const struct pgo_map *map,
			const struct request_profile *inferred, const struct answer_times *times)
{
	json_object *obj = with_status("ok");
	char text[65];
	size_t i;

	for (i = 0; i < 32; i++)
		snprintf(text + 2 * i, 3, "%02x", hash[i]);
	put_root(obj, choice->root);
	put_functions(obj, &choice->section, image);
	put_number(obj, "entry", image->entry);
	put_text(obj, "image", "image.elf");
	put_number(obj, "code_size", (int64_t)image->size);
	put_text(obj, "hash", text);
	put_features(obj, &choice->section);
	put_considered(obj, choice);
	if (map)
		put_map(obj, &choice->section, map);
	if (inferred)
		put_inferred(obj, &choice->section, inferred);
	put_times(obj, times);
	return obj;
}

int answer__write(json_object *answer, int fd)
{
	const char *text = json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PLAIN);
	size_t len = strlen(text), done = 0;
	ssize_t n;

	while (done < len) {
		n = write(fd, text + done, len - done);
		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? n : 0;
	}
	return 0;
}
