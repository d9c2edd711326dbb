// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "../kernel/kernel.h"
#include "client.h"
#include "json.h"
#include "paths.h"
#include "table.h"

static int check_root(char *detail, size_t size)
{
	if (geteuid() == 0)
		return 1;
	snprintf(detail, size, "run with sudo; the other rows may be wrong");
	return 0;
}

static int check_kernel(char *detail, size_t size)
{
	struct utsname uts;

	if (uname(&uts))
		return 0;
	snprintf(detail, size, "%s %s", uts.release, uts.machine);
	return 1;
}

static int check_file(char *path, const char *missing, char *detail, size_t size)
{
	snprintf(detail, size, "%s", path ? path : missing);
	free(path);
	return path != NULL;
}

static int check_opt(char *detail, size_t size)
{
	return check_file(paths__find_opt(), "not beside halo-bpf", detail, size);
}

static int check_knobs(char *detail, size_t size)
{
	return check_file(paths__find_knobs(), "not beside halo-bpf", detail, size);
}

static int check_clang(char *detail, size_t size)
{
	return check_file(paths__find_program("clang-19"), "not in PATH; see tools/install-deps.sh",
			  detail, size);
}

static int check_lld(char *detail, size_t size)
{
	return check_file(paths__find_program("ld.lld-19"),
			  "not in PATH; see tools/install-deps.sh", detail, size);
}

static int check_daemon(char *detail, size_t size)
{
	struct halo_err err = {};
	json_object *pong;

	if (client__call("ping", NULL, &pong, &err)) {
		snprintf(detail, size, "%s", err.what);
		return 0;
	}
	snprintf(detail, size, "process %ld, version %s", js__int(pong, "pid"),
		 js__str(pong, "version"));
	json_object_put(pong);
	return 1;
}

/* What is no feature of the kernel. */
static const struct halo_feature local_checks[] = {
	{"root", "", true, "nothing works", check_root},
	{"kernel", "", true, "its version is not known", check_kernel},
	{"halo-opt", "", true, "nothing is compiled", check_opt},
	{"knobs", "", false, "built-in configurations only", check_knobs},
	{"clang-19", "", false, "halo-cc can't prepare programs", check_clang},
	{"ld.lld-19", "", true, "variants can't be linked", check_lld},
	{"daemon", "", false, "nothing is optimized now", check_daemon},
};

struct doctor {
	struct table *table;
	json_object *rows;
	bool ok;
};

static void check(struct doctor *d, const struct halo_feature *f)
{
	json_object *row = json_object_new_object();
	char detail[256] = "";
	int there = f->probe(detail, sizeof(detail)) > 0;

	if (f->required && !there)
		d->ok = false;
	table__cell(d->table, "%s", f->name);
	table__cell(d->table, "%s", there ? "yes" : f->required ? "MISSING" : "no");
	table__cell(d->table, "%s", detail);
	table__cell(d->table, "%s", there ? "" : f->without);

	json_object_object_add(row, "name", json_object_new_string(f->name));
	json_object_object_add(row, "ok", json_object_new_boolean(there));
	json_object_object_add(row, "required", json_object_new_boolean(f->required));
	json_object_object_add(row, "since", json_object_new_string(f->since ? f->since : ""));
	json_object_object_add(row, "detail", json_object_new_string(detail));
	json_object_object_add(row, "without", json_object_new_string(f->without));
	json_object_array_add(d->rows, row);
}

enum cli_exit cmd_doctor(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
	static const char *const headers[] = {"CHECK", "THERE", "DETAIL", "WHAT IS LOST", NULL};
	struct cli_args args = {};
	struct doctor d = {.ok = true};
	json_object *answer;
	size_t i;

	cli__parse(cli, cmd, argc, argv, &args);
	answer = json_object_new_object();
	d.table = table__new(headers);
	d.rows = json_object_new_array();
	for (i = 0; i < ARRAY_SIZE(local_checks); i++)
		check(&d, &local_checks[i]);
	for (i = 0; i < halo_features_count; i++)
		check(&d, &halo_features[i]);

	json_object_object_add(answer, "ok", json_object_new_boolean(d.ok));
	json_object_object_add(answer, "checks", d.rows);
	if (cli->json)
		cli__print_json(cli, answer);
	else
		table__print(d.table, stdout, 0);
	table__free(d.table);
	json_object_put(answer);
	if (!cli->json && !d.ok)
		printf("\nhalo-bpf can't run here: what is MISSING is required\n");
	return d.ok ? CLI_OK : CLI_FAILED;
}
