// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>

#include "../daemon/checks.h"
#include "../kernel/kernel.h"
#include "../lib/log.h"
#include "client.h"
#include "json.h"
#include "paths.h"
#include "table.h"

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

/* Files and programs beside the daemon. */
static const struct halo_feature file_checks[] = {
	{.name = "halo-opt",
	 .required = true,
	 .without = "nothing is compiled",
	 .remedy = "make, or reinstall: it belongs beside halo-bpf",
	 .probe = check_opt},
	{.name = "knobs",
	 .without = "built-in configurations only",
	 .remedy = "make, or reinstall: the folder belongs beside halo-bpf",
	 .probe = check_knobs},
	{.name = "clang-19",
	 .without = "halo-cc can't prepare programs",
	 .remedy = "apt-get install clang-19",
	 .probe = check_clang},
	{.name = "ld.lld-19",
	 .without = "variants can't be linked, so every program keeps its original code",
	 .remedy = "apt-get install lld-19",
	 .probe = check_lld},
	{.name = "daemon",
	 .without = "nothing is optimized now",
	 .remedy = "halo-bpf start",
	 .probe = check_daemon},
};

struct doctor {
	struct table *table;
	json_object *rows;
	bool ok;
};

static void add_string(json_object *row, const char *key, const char *text)
{
	json_object_object_add(row, key, json_object_new_string(text ? text : ""));
}

/* A line of its own, below the check that it belongs to. */
static void explain(struct doctor *d, const char *label, const char *text)
{
	if (!text)
		return;
	table__cell(d->table, "%s", "");
	table__cell(d->table, "%s", "");
	table__cell(d->table, "  %s: %s", label, text);
}

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
	if (!there) {
		explain(d, "lost", f->without);
		explain(d, "remedy", f->remedy);
	}

	add_string(row, "name", f->name);
	json_object_object_add(row, "ok", json_object_new_boolean(there));
	json_object_object_add(row, "required", json_object_new_boolean(f->required));
	add_string(row, "since", f->since);
	add_string(row, "commit", f->commit);
	add_string(row, "detail", detail);
	add_string(row, "without", f->without);
	add_string(row, "remedy", f->remedy);
	json_object_array_add(d->rows, row);
}

static void check_all(struct doctor *d, const struct halo_feature *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check(d, &rows[i]);
}

const struct argp_option cmd_doctor_options[] = {
	{"btf", 'b', "FILE", 0, "BTF of this kernel, where /sys/kernel/btf has none", 0},
	{},
};

static int set(int key, const char *value, void *input)
{
	(void)key;
	(void)input;
	halo_features__set_btf(value);
	return 0;
}

enum cli_exit cmd_doctor(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
	static const char *const headers[] = {"CHECK", "THERE", "DETAIL", NULL};
	struct cli_args args = {.set = set};
	struct doctor d = {.ok = true};
	json_object *answer;

	cli__parse(cli, cmd, argc, argv, &args);
	if (!cli->verbose)
		halo_log__set_level(HALO_LOG_ERROR);
	answer = json_object_new_object();
	d.table = table__new(headers);
	d.rows = json_object_new_array();
	check_all(&d, halo_daemon_checks, halo_daemon_checks_count);
	check_all(&d, file_checks, ARRAY_SIZE(file_checks));
	check_all(&d, halo_environment, halo_environment_count);
	check_all(&d, halo_features, halo_features_count);

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
