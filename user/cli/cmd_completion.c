// SPDX-License-Identifier: BSD-2-Clause
/*
 * What completes commands in a shell, written from the tables that the commands are parsed with, so
 * that it can't fall behind them.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const char *const shells[] = {"bash", "zsh", NULL};
const struct cli_values cmd_completion_values[] = {{0, shells}, {}};

static void print_words(const char *const *names)
{
	for (const char *const *name = names; *name; name++)
		printf("%s%s", name == names ? "" : " ", *name);
}

static bool has_key(const struct argp_option *o)
{
	return o->key > ' ' && o->key < 127;
}

static void print_options(const struct argp_option *options)
{
	for (const struct argp_option *o = options; o && o->name; o++)
		printf(" --%s", o->name);
}

/* The cases of "COMMAND PREVIOUS-WORD": what the value of an option may be. */
static void bash_values(const struct cmd *cmd)
{
	for (const struct argp_option *o = cmd->options; o && o->name; o++) {
		const char *const *names = cmd__values(cmd, o->key);

		if (!o->arg)
			continue;
		printf("\t'%s --%s'", cmd->name, o->name);
		if (has_key(o))
			printf(" | '%s -%c'", cmd->name, o->key);
		printf(")\n\t\t");
		if (names) {
			printf("COMPREPLY=($(compgen -W '");
			print_words(names);
			printf("' -- \"$cur\"))\n");
		} else if (strcmp(o->arg, "FILE") == 0) {
			printf("compopt -o filenames; COMPREPLY=($(compgen -f -- \"$cur\"))\n");
		} else if (strcmp(o->arg, "PID") == 0) {
			printf("COMPREPLY=($(compgen -W \"$(_halo_bpf_pids)\" -- \"$cur\"))\n");
		} else {
			printf("COMPREPLY=()\n");
		}
		printf("\t\treturn\n\t\t;;\n");
	}
}

static void bash_arguments(const struct cmd *cmd)
{
	static const char *const how[] = {
		[COMPLETE_NOTHING] = "",
		[COMPLETE_FILE] = "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$cur\"))",
		[COMPLETE_TARGET] = "compopt -o filenames; COMPREPLY=($(compgen -f -W "
				    "\"$(_halo_bpf_pids)\" -- \"$cur\"))",
		[COMPLETE_COMMAND] = "COMPREPLY=($(compgen -c -f -- \"$cur\"))",
	};
	const char *const *names = cmd__values(cmd, 0);

	printf("\t%s)\n\t\toptions+='", cmd->name);
	print_options(cmd->options);
	printf("'\n");
	if (names) {
		printf("\t\tCOMPREPLY=($(compgen -W '");
		print_words(names);
		printf("' -- \"$cur\"))\n");
	} else if (strcmp(cmd->name, "help") == 0) {
		printf("\t\tCOMPREPLY=($(compgen -W \"$commands\" -- \"$cur\"))\n");
	} else if (cmd->complete != COMPLETE_NOTHING) {
		printf("\t\t%s\n", how[cmd->complete]);
	}
	printf("\t\t;;\n");
}

static void print_bash(void)
{
	printf("# bash completion for halo-bpf, made by \"halo-bpf completion bash\"\n"
	       "_halo_bpf_pids() {\n\tlocal p\n\tfor p in /proc/[0-9]*; do echo \"${p#/proc/}\"; "
	       "done\n}\n\n"
	       "_halo_bpf() {\n"
	       "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} "
	       "cmd= i\n\tlocal commands='");
	for (size_t i = 0; i < cli_cmds_count; i++)
		printf("%s%s", i ? " " : "", cli_cmds[i].name);
	printf("'\n\tlocal options='");
	print_options(cli_global_options);
	printf(" --help'\n\n"
	       "\tCOMPREPLY=()\n"
	       "\t# \"--format=x\" comes as three words.\n"
	       "\t[ \"$cur\" = = ] && cur=\n"
	       "\t[ \"$prev\" = = ] && prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
	       "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	       "\t\tcase ${COMP_WORDS[i]} in\n\t\t-*) ;;\n\t\t*) cmd=${COMP_WORDS[i]}; break ;;\n"
	       "\t\tesac\n\tdone\n"
	       "\tif [ -z \"$cmd\" ]; then\n"
	       "\t\t[[ $cur == -* ]] && commands=$options\n"
	       "\t\tCOMPREPLY=($(compgen -W \"$commands\" -- \"$cur\"))\n"
	       "\t\treturn\n\tfi\n"
	       "\tcase \"$cmd $prev\" in\n");
	for (size_t i = 0; i < cli_cmds_count; i++)
		bash_values(&cli_cmds[i]);
	printf("\tesac\n\tcase $cmd in\n");
	for (size_t i = 0; i < cli_cmds_count; i++)
		bash_arguments(&cli_cmds[i]);
	printf("\tesac\n"
	       "\t[[ $cur == -* ]] && COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
	       "}\n"
	       "complete -F _halo_bpf halo-bpf\n");
}

/* In single quotes, within brackets or behind colons, both of which zsh would take for its own. */
static void zsh_text(const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			printf("'\\''");
		else if (strchr("[]:", *text))
			printf("\\%c", *text);
		else
			putchar(*text);
	}
}

static void zsh_action(const char *const *names, const char *arg)
{
	printf(":%s:", arg);
	if (names) {
		printf("(");
		print_words(names);
		printf(")");
	} else if (strcmp(arg, "FILE") == 0) {
		printf("_files");
	} else if (strcmp(arg, "PID") == 0) {
		printf("_pids");
	}
}

static void zsh_options(const struct cmd *cmd, const struct argp_option *options)
{
	for (const struct argp_option *o = options; o && o->name; o++) {
		printf(" \\\n\t\t\t");
		if (has_key(o))
			printf("'(-%c --%s)'{-%c%s,--%s%s}'[", o->key, o->name, o->key,
			       o->arg ? "+" : "", o->name, o->arg ? "=" : "");
		else
			printf("'--%s%s[", o->name, o->arg ? "=" : "");
		zsh_text(o->doc);
		printf("]");
		if (o->arg)
			zsh_action(cmd ? cmd__values(cmd, o->key) : NULL, o->arg);
		printf("'");
	}
}

static void zsh_arguments(const struct cmd *cmd)
{
	static const char *const how[] = {
		[COMPLETE_NOTHING] = NULL,
		[COMPLETE_FILE] = "'*:file:_files'",
		[COMPLETE_TARGET] = "'*:program:{_files; _pids}'",
		[COMPLETE_COMMAND] = "'*::command:_normal'",
	};
	const char *const *names = cmd__values(cmd, 0);

	if (names) {
		printf(" \\\n\t\t\t'1");
		zsh_action(names, cmd->args);
		printf("'");
	} else if (strcmp(cmd->name, "help") == 0) {
		printf(" \\\n\t\t\t'1:command:_halo_bpf_commands'");
	} else if (how[cmd->complete]) {
		printf(" \\\n\t\t\t%s", how[cmd->complete]);
	}
}

static void print_zsh(void)
{
	/* zsh loads a function from the file of its name, and calls it by running the file. */
	printf("#compdef halo-bpf\n"
	       "# zsh completion for halo-bpf, made by \"halo-bpf completion zsh\"\n"
	       "_halo_bpf_commands() {\n\tlocal -a commands=(\n");
	for (size_t i = 0; i < cli_cmds_count; i++) {
		printf("\t\t'%s:", cli_cmds[i].name);
		zsh_text(cli_cmds[i].help);
		printf("'\n");
	}
	printf("\t)\n\t_describe command commands\n}\n\n"
	       "_halo-bpf() {\n"
	       "\tlocal curcontext=$curcontext state line\n"
	       "\t_arguments -C");
	zsh_options(NULL, cli_global_options);
	printf(" \\\n\t\t\t'1:command:_halo_bpf_commands' '*::argument:->arguments'\n"
	       "\t[[ $state == arguments ]] || return\n"
	       "\tcase $line[1] in\n");
	for (size_t i = 0; i < cli_cmds_count; i++) {
		printf("\t%s)\n\t\t_arguments", cli_cmds[i].name);
		zsh_options(NULL, cli_global_options);
		zsh_options(&cli_cmds[i], cli_cmds[i].options);
		zsh_arguments(&cli_cmds[i]);
		printf("\n\t\t;;\n");
	}
	printf("\tesac\n}\n"
	       "if [ \"$funcstack[1]\" = _halo-bpf ]; then\n\t_halo-bpf \"$@\"\nelse\n"
	       "\tcompdef _halo-bpf halo-bpf\nfi\n");
}

enum cli_exit cmd_completion(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
	struct cli_args args = {.min = 1, .max = 1};
	struct halo_err err = {0};
	char names[64];

	cli__parse(cli, cmd, argc, argv, &args);
	if (strcmp(args.values[0], "bash") == 0) {
		print_bash();
		return CLI_OK;
	}
	if (strcmp(args.values[0], "zsh") == 0) {
		print_zsh();
		return CLI_OK;
	}
	cli__join(shells, names, sizeof(names));
	halo_err__set(&err, -EINVAL, "no completion for '%s'", args.values[0]);
	halo_err__remedy(&err, "one of: %s", names);
	return cli__fail(cli, CLI_USAGE, &err);
}
