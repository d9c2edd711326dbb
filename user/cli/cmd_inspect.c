// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "../lib/prepared.h"
#include "cli.h"
#include "table.h"

struct summary {
	char buildid[2 * HALO_BUILD_ID_MAX + 1];
	char hash[2 * 32 + 1];
	const char *kind;
	size_t redirectable;
	uint64_t bc_size, raw_size;
};

static int summarize(const struct halo_prepared *p, struct summary *s, struct halo_err *err)
{
	uint8_t hash[32];
	size_t i;
	int ret;

	memset(s, 0, sizeof(*s));
	ret = halo_prepared__hash(p, hash, err);
	if (ret)
		return ret;
	for (i = 0; i < sizeof(hash); i++)
		snprintf(s->hash + 2 * i, 3, "%02x", hash[i]);
	halo_buildid__format(&p->buildid, s->buildid);
	s->kind = p->is_library ? "shared library"
		  : p->pic	? "position-independent executable"
				: "fixed executable";
	for (i = 0; i < p->n_funcs; i++)
		s->redirectable += p->funcs[i].slot != 0;
	for (i = 0; i < p->n_units; i++) {
		s->bc_size += p->units[i].bc_size;
		s->raw_size += p->units[i].raw_size;
	}
	return 0;
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

static void print_funcs(const struct halo_prepared *p)
{
	static const char *const headers[] = {"FUNCTION", ">ADDRESS",	  ">SIZE",
					      "UNIT",	  "REDIRECTABLE", NULL};
	struct table *t = table__new(headers);
	size_t i;

	for (i = 0; i < p->n_funcs; i++) {
		const struct halo_func *f = &p->funcs[i];

		table__cell(t, "%s", f->name);
		table__cell(t, "%#lx", f->addr);
		table__cell(t, "%lu", f->size);
		table__cell(t, "%s", p->units[f->unit].name);
		if (f->slot)
			table__cell(t, "yes");
		else
			table__cell(t, "no: %s", halo_reason__text(f->reason));
	}
	table__print(t, stdout, 0);
	table__free(t);
}

static void print(const char *path, const struct halo_prepared *p, const struct summary *s)
{
	print_clean(stdout, path);
	printf("\n  build-id   %s\n", s->buildid[0] ? s->buildid : "none: it can't be enrolled");
	printf("  hash       %s\n", s->hash);
	printf("  kind       %s%s\n", s->kind, p->is_static ? ", static" : "");
	printf("  stub       %s\n", p->has_stub ? "yes" : "none: it can't be attached");
	printf("  units      %zu, with %lu bytes of bitcode, %lu compressed\n", p->n_units,
	       s->raw_size, s->bc_size);
	printf("  functions  %zu, of which %zu can be redirected\n", p->n_funcs, s->redirectable);
	printf("  variables  %zu\n\n", p->n_vars);
	print_units(p);
	printf("\n");
	print_funcs(p);
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
		json_object_array_add(funcs, obj);
	}
	return funcs;
}

static void print_json(const struct cli *cli, const char *path, const struct halo_prepared *p,
		       const struct summary *s)
{
	json_object *obj = json_object_new_object();

	json_object_object_add(obj, "path", json_object_new_string(path));
	json_object_object_add(obj, "build_id", json_object_new_string(s->buildid));
	json_object_object_add(obj, "hash", json_object_new_string(s->hash));
	json_object_object_add(obj, "kind", json_object_new_string(s->kind));
	json_object_object_add(obj, "static", json_object_new_boolean(p->is_static));
	json_object_object_add(obj, "stub", json_object_new_boolean(p->has_stub));
	json_object_object_add(obj, "variables", json_object_new_uint64(p->n_vars));
	json_object_object_add(obj, "redirectable", json_object_new_uint64(s->redirectable));
	json_object_object_add(obj, "units", units_to_json(p));
	json_object_object_add(obj, "functions", funcs_to_json(p));
	cli__print_json(cli, obj);
	json_object_put(obj);
}

static int inspect(const struct cli *cli, const char *path, struct halo_err *err)
{
	/* A FIFO or a terminal must not block; the reader refuses them. */
	__cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct halo_prepared *p;
	struct summary s;
	int ret;

	if (fd < 0)
		return halo_err__set(err, -errno, "open %s: %s", path, strerror(errno));
	ret = halo_prepared__open(fd, &p, err);
	if (ret)
		return halo_err__wrap(err, ret, "%s", path);
	ret = summarize(p, &s, err);
	if (!ret && cli->json)
		print_json(cli, path, p, &s);
	else if (!ret)
		print(path, p, &s);
	halo_prepared__free(p);
	return ret;
}

enum cli_exit cmd_inspect(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
	struct cli_args args = {.min = 1, .max = 1};
	struct halo_err err = {};

	cli__parse(cli, cmd, argc, argv, &args);
	if (inspect(cli, args.values[0], &err))
		return cli__fail(cli, CLI_FAILED, &err);
	return CLI_OK;
}
