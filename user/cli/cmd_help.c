// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>

#include "cli.h"

static enum cli_exit help_on(struct cli *cli, char *name)
{
	char *argv[] = {name, (char *)"--help", NULL};
	const struct cmd *cmd;
	struct halo_err err;
	char names[256];

	if (cmd__match(cli_cmds, cli_cmds_count, name, &cmd) == 1)
		return cmd->func(cli, cmd, 2, argv);
	cmd__candidates(cli_cmds, cli_cmds_count, "", names, sizeof(names));
	halo_err__set(&err, -EINVAL, "no command '%s'", name);
	halo_err__remedy(&err, "one of: %s", names);
	return cli__fail(cli, CLI_USAGE, &err);
}

enum cli_exit cmd_help(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
	struct cli_args args = {.max = 1};
	__cleanup_free char *text = NULL;

	cli__parse(cli, cmd, argc, argv, &args);
	if (args.count)
		return help_on(cli, args.values[0]);
	if (cli->json) {
		json_object *obj = json_object_new_object();

		json_object_object_add(obj, "commands", cmd__json(cli_cmds, cli_cmds_count));
		cli__print_json(cli, obj);
		json_object_put(obj);
		return CLI_OK;
	}
	text = cmd__overview(cli_cmds, cli_cmds_count);
	printf("Usage: halo-bpf [-j|-p] [-v] COMMAND [ARGUMENT...]\n\n%s", text ? text : "");
	printf("\"halo-bpf help COMMAND\" shows a command's options.\n");
	return CLI_OK;
}
