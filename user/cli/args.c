// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>

#include "../lib/log.h"
#include "cli.h"

static error_t parse_global(int key, char *arg, struct argp_state *state)
{
	struct cli *cli = state->input;

	(void)arg;
	switch (key) {
	case 'p':
		cli->pretty = true;
		cli->json = true;
		return 0;
	case 'j':
		cli->json = true;
		return 0;
	case 'v':
		cli->verbose = true;
		halo_log__set_level(HALO_LOG_DEBUG);
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp_option cli_global_options[] = {
	{"json", 'j', NULL, 0, "print JSON", 0},
	{"pretty", 'p', NULL, 0, "print JSON with line breaks", 0},
	{"verbose", 'v', NULL, 0, "log more", 0},
	{NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0},
	{},
};

const struct argp cli_global_argp = {.options = cli_global_options, .parser = parse_global};

struct parse_state {
	struct cli *cli;
	const struct cmd *cmd;
	struct cli_args *args;
};

static bool is_listed(const char *const *names, const char *name)
{
	for (; *names; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

/* Ends the program if @value is none for the option. */
static void set_option(const struct parse_state *ps, const struct argp_option *o, const char *value,
		       const struct argp_state *state)
{
	const char *const *names = cmd__values(ps->cmd, o->key);
	char list[256];

	if (names && !is_listed(names, value)) {
		cli__join(names, list, sizeof(list));
		argp_error(state, "'%s' is no value for --%s, which takes one of: %s", value,
			   o->name, list);
	}
	if (ps->args->set(o->key, value, ps->args->input))
		argp_error(state, "'%s' is no value for --%s, which is %s", value, o->name, o->doc);
}

static error_t parse_cmd(int key, char *arg, struct argp_state *state)
{
	struct parse_state *ps = state->input;
	struct cli_args *args = ps->args;
	const struct argp_option *o;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = ps->cli;
		return 0;
	case ARGP_KEY_ARG:
		if (args->command) {
			args->rest = state->argv + state->next - 1;
			state->next = state->argc;
			args->count = args->min;
			return 0;
		}
		if (args->count >= args->max)
			argp_error(state, "one argument too many: '%s'", arg);
		args->values[args->count++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (args->count < args->min)
			argp_error(state, "an argument is missing");
		return 0;
	}
	for (o = ps->cmd->options; o && o->key; o++) {
		if (o->key != key)
			continue;
		set_option(ps, o, arg, state);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

void cli__parse(struct cli *cli, const struct cmd *cmd, int argc, char **argv,
		struct cli_args *args)
{
	static const struct argp_child children[] = {{.argp = &cli_global_argp}, {}};
	struct parse_state ps = {cli, cmd, args};
	struct argp argp = {
		.options = cmd->options,
		.parser = parse_cmd,
		.args_doc = cmd->args,
		.doc = cmd->help,
		.children = children,
	};
	char name[64];

	/* argp says "Usage: halo-bpf enroll …". */
	snprintf(name, sizeof(name), "halo-bpf %s", cmd->name);
	argv[0] = name;
	argp_err_exit_status = CLI_USAGE;
	argp_parse(&argp, argc, argv, args->command ? ARGP_IN_ORDER : 0, NULL, &ps);
	argv[0] = (char *)cmd->name;
}
