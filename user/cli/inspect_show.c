// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>

#include "inspect_show.h"
#include "table.h"

struct summary {
	char buildid[2 * HALO_BUILD_ID_MAX + 1];
	char hash[2 * 32 + 1];
	const char *kind;
	size_t redirectable;
	uint64_t bc_size, raw_size;
};

static const char *kind_of(const struct inspected *file)
{
	if (!file->linked)
		return "object";
	if (file->p->is_library)
		return "shared library";
	return file->p->pic ? "position-independent executable" : "fixed executable";
}

static int summarize(const struct inspected *file, struct summary *s, struct halo_err *err)
{
	const struct halo_prepared *p = file->p;
	uint8_t hash[32];
	size_t i;
	int ret;

	memset(s, 0, sizeof(*s));
	s->kind = kind_of(file);
	for (i = 0; i < p->n_funcs; i++)
		s->redirectable += p->funcs[i].slot != 0;
	for (i = 0; i < p->n_units; i++) {
		s->bc_size += p->units[i].bc_size;
		s->raw_size += p->units[i].raw_size;
	}
	if (!file->linked)
		return 0;
	halo_buildid__format(&p->buildid, s->buildid);
	ret = halo_prepared__hash(p, hash, err);
	for (i = 0; !ret && i < sizeof(hash); i++)
		snprintf(s->hash + 2 * i, 3, "%02x", hash[i]);
	return ret;
}

static void print_units(const struct halo_prepared *p)
{
	static const char *const headers[] = {"UNIT",	     ">LLVM", ">BITCODE",
					      ">COMPRESSED", "NOTE",  NULL};
	struct table *t = table__new(headers);
	size_t i;

	for (i = 0; i < p->n_units; i++) {
		const struct halo_unit *u = &p->units[i];

		table__cell(t, "%s", u->name);
		table__cell(t, "%u", u->llvm);
		table__cell(t, "%zu", u->raw_size);
		table__cell(t, "%zu", u->bc_size);
		table__cell(t, "%s%s", u->flags & HALO_UNIT_O0 ? "-O0 " : "",
			    u->ambiguous ? "another unit has its id" : "");
	}
	table__print(t, stdout, 0);
	table__free(t);
}

static void address_cell(struct table *t, const struct inspected *file, uint64_t addr)
{
	if (file->linked)
		table__cell(t, "%#lx", addr);
	else
		table__cell(t, "-");
}

static void redirectable_cell(struct table *t, const struct halo_func *f)
{
	const char *loops = halo_loops__text(f), *comma = loops[0] ? "; " : "";

	if (f->slot)
		table__cell(t, "yes%s%s", comma, loops);
	else
		table__cell(t, "no: %s%s%s", halo_reason__text(f->reason), comma, loops);
}

static void print_funcs(const struct inspected *file)
{
	static const char *const headers[] = {"FUNCTION", ">ADDRESS",	  ">SIZE",
					      "UNIT",	  "REDIRECTABLE", NULL};
	struct table *t = table__new(headers);
	size_t i;

	for (i = 0; i < file->p->n_funcs; i++) {
		const struct halo_func *f = &file->p->funcs[i];

		table__cell(t, "%s", f->name);
		address_cell(t, file, f->addr);
		if (file->linked)
			table__cell(t, "%lu", f->size);
		else
			table__cell(t, "-");
		table__cell(t, "%s", file->p->units[f->unit].name);
		redirectable_cell(t, f);
	}
	table__print(t, stdout, 0);
	table__free(t);
}

static void print_vars(const struct inspected *file)
{
	static const char *const headers[] = {"VARIABLE", ">ADDRESS", ">SIZE",
					      "UNIT",	  "NOTE",     NULL};
	struct table *t = table__new(headers);
	size_t i;

	for (i = 0; i < file->p->n_vars; i++) {
		const struct halo_var *v = &file->p->vars[i];

		table__cell(t, "%s", v->name);
		address_cell(t, file, v->addr);
		table__cell(t, "%lu", v->size);
		table__cell(t, "%s", file->p->units[v->unit].name);
		table__cell(t, "%s%s%s", v->flags & HALO_VAR_LOCAL ? "pinned " : "",
			    v->flags & HALO_VAR_TLS ? "thread-local " : "",
			    v->flags & HALO_VAR_CONST ? "constant" : "");
	}
	table__print(t, stdout, 0);
	table__free(t);
}

int inspect__print(const struct inspected *file, struct halo_err *err)
{
	const struct halo_prepared *p = file->p;
	struct summary s;
	int ret = summarize(file, &s, err);

	if (ret)
		return ret;
	print_clean(stdout, file->name);
	printf("\n");
	if (file->linked) {
		printf("  build-id   %s\n",
		       s.buildid[0] ? s.buildid : "none: it can't be enrolled");
		printf("  hash       %s\n", s.hash);
	}
	printf("  kind       %s%s\n", s.kind, file->linked && p->is_static ? ", static" : "");
	if (file->linked)
		printf("  stub       %s\n", p->has_stub ? "yes" : "none: it can't be attached");
	printf("  units      %zu, with %lu bytes of bitcode, %lu compressed\n", p->n_units,
	       s.raw_size, s.bc_size);
	printf("  functions  %zu, of which %zu can be redirected\n", p->n_funcs, s.redirectable);
	printf("  variables  %zu\n\n", p->n_vars);
	print_units(p);
	printf("\n");
	print_funcs(file);
	if (p->n_vars) {
		printf("\n");
		print_vars(file);
	}
	return 0;
}

static json_object *units_to_json(const struct halo_prepared *p)
{
	json_object *units = json_object_new_array();
	size_t i;

	for (i = 0; i < p->n_units; i++) {
		const struct halo_unit *u = &p->units[i];
		json_object *obj = json_object_new_object();
		char id[17];

		snprintf(id, sizeof(id), "%016lx", u->id);
		json_object_object_add(obj, "name", json_object_new_string(u->name));
		json_object_object_add(obj, "id", json_object_new_string(id));
		json_object_object_add(obj, "llvm", json_object_new_int(u->llvm));
		json_object_object_add(obj, "size", json_object_new_uint64(u->raw_size));
		json_object_object_add(obj, "compressed", json_object_new_uint64(u->bc_size));
		json_object_object_add(obj, "ambiguous", json_object_new_boolean(u->ambiguous));
		json_object_array_add(units, obj);
	}
	return units;
}

static json_object *funcs_to_json(const struct halo_prepared *p)
{
	json_object *funcs = json_object_new_array();
	size_t i;

	for (i = 0; i < p->n_funcs; i++) {
		const struct halo_func *f = &p->funcs[i];
		json_object *obj = json_object_new_object();

		json_object_object_add(obj, "name", json_object_new_string(f->name));
		json_object_object_add(obj, "vaddr", json_object_new_uint64(f->addr));
		json_object_object_add(obj, "size", json_object_new_uint64(f->size));
		json_object_object_add(obj, "slot", json_object_new_uint64(f->slot));
		json_object_object_add(obj, "unit", json_object_new_int(f->unit));
		json_object_object_add(obj, "redirectable", json_object_new_boolean(f->slot != 0));
		json_object_object_add(obj, "reason",
				       json_object_new_string(halo_reason__text(f->reason)));
		json_object_object_add(obj, "loops", json_object_new_string(halo_loops__text(f)));
		json_object_array_add(funcs, obj);
	}
	return funcs;
}

static json_object *vars_to_json(const struct halo_prepared *p)
{
	json_object *vars = json_object_new_array();
	size_t i;

	for (i = 0; i < p->n_vars; i++) {
		const struct halo_var *v = &p->vars[i];
		json_object *obj = json_object_new_object();

		json_object_object_add(obj, "name", json_object_new_string(v->name));
		json_object_object_add(obj, "vaddr", json_object_new_uint64(v->addr));
		json_object_object_add(obj, "size", json_object_new_uint64(v->size));
		json_object_object_add(obj, "unit", json_object_new_int(v->unit));
		json_object_object_add(obj, "pinned",
				       json_object_new_boolean(v->flags & HALO_VAR_LOCAL));
		json_object_object_add(obj, "thread_local",
				       json_object_new_boolean(v->flags & HALO_VAR_TLS));
		json_object_object_add(obj, "constant",
				       json_object_new_boolean(v->flags & HALO_VAR_CONST));
		json_object_array_add(vars, obj);
	}
	return vars;
}

int inspect__to_json(const struct inspected *file, json_object **out, struct halo_err *err)
{
	const struct halo_prepared *p = file->p;
	json_object *obj;
	struct summary s;
	int ret = summarize(file, &s, err);

	if (ret)
		return ret;
	obj = json_object_new_object();
	json_object_object_add(obj, "path", json_object_new_string(file->name));
	json_object_object_add(obj, "kind", json_object_new_string(s.kind));
	if (file->linked) {
		json_object_object_add(obj, "build_id", json_object_new_string(s.buildid));
		json_object_object_add(obj, "hash", json_object_new_string(s.hash));
		json_object_object_add(obj, "static", json_object_new_boolean(p->is_static));
		json_object_object_add(obj, "stub", json_object_new_boolean(p->has_stub));
	}
	json_object_object_add(obj, "redirectable", json_object_new_uint64(s.redirectable));
	json_object_object_add(obj, "units", units_to_json(p));
	json_object_object_add(obj, "functions", funcs_to_json(p));
	json_object_object_add(obj, "variables", vars_to_json(p));
	*out = obj;
	return 0;
}
