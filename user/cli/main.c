// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>

#include "../lib/log.h"
#include "../lib/version.h"
#include "cli.h"

const char *argp_program_version = "halo-bpf " HALO_VERSION;

struct main_args {
	struct cli *cli;
	int first; /* index of the command's name in argv; 0: none */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct main_args *args = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = args->cli;
		return 0;
	case ARGP_KEY_ARG:
		/* The rest is the command's. */
		args->first = state->next - 1;
		state->next = state->argc;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static char *add_commands(int key, const char *text, void *input)
{
	(void)input;
	if (key == ARGP_KEY_HELP_POST_DOC)
		return cmd__overview(cli_cmds, cli_cmds_count);
	return (char *)text;
}

static enum cli_exit refuse(const struct cli *cli, const char *name, size_t matches)
{
	char names[256];
	struct halo_err err;

	cmd__candidates(cli_cmds, cli_cmds_count, matches ? name : "", names, sizeof(names));
	halo_err__set(&err, -EINVAL, "%s command '%s'", matches ? "ambiguous" : "unknown", name);
	halo_err__remedy(&err, "one of: %s", names);
	return cli__fail(cli, CLI_USAGE, &err);
}

int main(int argc, char **argv)
{
	static const struct argp_child children[] = {{.argp = &cli_global_argp}, {}};
	static const struct argp argp = {
		.parser = parse,
		.args_doc = "COMMAND [ARGUMENT...]",
		.doc = "Makes native programs faster while they run.\v",
		.children = children,
		.help_filter = add_commands,
	};
	struct cli cli = {};
	struct main_args args = {.cli = &cli};
	const struct cmd *cmd = NULL;
	size_t matches;

	argp_err_exit_status = CLI_USAGE;
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &args);
	if (!args.first) {
		argp_help(&argp, stderr, ARGP_HELP_STD_HELP & ~ARGP_HELP_EXIT_OK, argv[0]);
		return CLI_USAGE;
	}
	matches = cmd__match(cli_cmds, cli_cmds_count, argv[args.first], &cmd);
	if (matches != 1)
		return refuse(&cli, argv[args.first], matches);
	return cmd->func(&cli, cmd, argc - args.first, argv + args.first);
}
