// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>

#include "client.h"
#include "json.h"
#include "table.h"

static void print(json_object *answer)
{
	json_object *programs = js__get(answer, "programs");
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

	cli__parse(cli, cmd, argc, argv, &args);
	return client__show(cli, "list", NULL, print);
}
