// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>

#include "client.h"
#include "json.h"
#include "table.h"

static void print(json_object *programs)
{
	static const char *const headers[] = {"BUILD-ID", "STATE", ">PROCESSES", "PATH", NULL};
	struct table *t;
	size_t i;

	if (!js__len(programs)) {
		printf("no program is enrolled\n");
		return;
	}
	t = table__new(headers);
	for (i = 0; i < js__len(programs); i++) {
		json_object *program = js__at(programs, i);

		table__cell(t, "%s", js__str(program, "build_id"));
		table__cell(t, "%s", js__str(program, "state"));
		table__cell(t, "%zu", js__len(js__get(program, "pids")));
		table__cell(t, "%s", js__str(program, "path"));
	}
	table__print(t, stdout, 0);
	table__free(t);
}

enum cli_exit cmd_list(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
	struct cli_args args = {};
	json_object *answer;
	struct halo_err err;
	enum cli_exit ret;

	cli__parse(cli, cmd, argc, argv, &args);
	ret = client__call("list", NULL, &answer, &err);
	if (ret)
		return cli__fail(cli, ret, &err);
	if (cli->json)
		cli__print_json(cli, answer);
	else
		print(js__get(answer, "programs"));
	json_object_put(answer);
	return CLI_OK;
}
