/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_CLI_H
#define HALO_CLI_H

/*
 * The command line. main() finds the command by its name or an unambiguous prefix; each command is
 * one file, parses its own arguments and returns an exit code.
 */
#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include <json-c/json.h>

#include "../lib/err.h"
#include "../lib/util.h"

/* What scripts may rely on; documented in docs/man/halo-bpf.md. */
enum cli_exit {
	CLI_OK = 0,
	CLI_FAILED = 1,
	CLI_USAGE = 2,
	CLI_NO_DAEMON = 3,
	CLI_PRIVILEGE = 4,
};

/* The options that every command takes, before or after its name. */
struct cli {
	bool json;
	bool pretty; /* JSON with line breaks; implies json */
	bool verbose;
};

extern const struct argp cli_global_argp; /* its input is a struct cli */

/* Under which heading help shows a command. */
enum cmd_group {
	CMD_DAEMON,
	CMD_PROGRAMS,
	CMD_LOOK,
	CMD_TOOLS,
};

/* What a shell may complete the arguments with, besides the names in @values. */
enum cmd_complete {
	COMPLETE_NOTHING,
	COMPLETE_FILE,
	COMPLETE_TARGET,  /* a file or a process */
	COMPLETE_COMMAND, /* a program and its own arguments */
};

/* All words that an option (by its key), or the arguments (key 0), can be. */
struct cli_values {
	int key;
	const char *const *names; /* ends with NULL */
};

struct cmd {
	const char *name;
	const char *args; /* as in "enroll PATH|PID|BUILD-ID", without the name */
	const char *help; /* one line */
	enum cli_exit (*func)(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
	enum cmd_group group;
	enum cmd_complete complete;
	const struct argp_option *options; /* its own, ends with an empty one; NULL: none */
	const struct cli_values *values;   /* ends with an empty one; NULL: none */
};

extern const struct cmd cli_cmds[];
extern const size_t cli_cmds_count;
extern const struct argp_option cli_global_options[];

/* Number of commands that @name may mean: 1 for an exact match. *out is the first of them. */
size_t cmd__match(const struct cmd *cmds, size_t n, const char *name, const struct cmd **out);
/* The names that begin with @prefix, separated by commas. */
void cmd__candidates(const struct cmd *cmds, size_t n, const char *prefix, char *buf, size_t size);
/* A line per command, by group, for people; the caller frees it. */
char *cmd__overview(const struct cmd *cmds, size_t n);
/* The words that the option @key of @cmd can be; NULL: any. */
const char *const *cmd__values(const struct cmd *cmd, int key);
/* The names, separated by commas. */
void cli__join(const char *const *names, char *buf, size_t size);
/* The tables as JSON: commands with their options and the words these take. */
json_object *cmd__json(const struct cmd *cmds, size_t n);

#define CLI_ARGS_MAX 4

/* What a command takes: zero the rest. */
struct cli_args {
	int min, max; /* number of arguments that are no options */
	/* One of the command's options: 0, or -EINVAL if @value is none for it. */
	int (*set)(int key, const char *value, void *input);
	void *input;
	bool command; /* from the first argument on, all is another command's: see rest */

	char **rest;		    /* out; ends with NULL */
	char *values[CLI_ARGS_MAX]; /* out */
	int count;		    /* out */
};

/* Parse argv, argv[0] being the command's name. Ends the program on --help and on wrong usage. */
void cli__parse(struct cli *cli, const struct cmd *cmd, int argc, char **argv,
		struct cli_args *args);

/* Print the error, as JSON on standard output with -j, and return @code. */
enum cli_exit cli__fail(const struct cli *cli, enum cli_exit code, const struct halo_err *err);
void cli__print_json(const struct cli *cli, json_object *obj);

/* A command's own options and the words that they take, where its function is. */
extern const struct argp_option cmd_start_options[];
extern const struct argp_option cmd_doctor_options[];
extern const struct argp_option cmd_enroll_options[];
extern const struct cli_values cmd_enroll_values[];
extern const struct argp_option cmd_profile_options[];
extern const struct cli_values cmd_profile_values[];
extern const struct cli_values cmd_map_values[];
extern const struct argp_option cmd_torture_options[];
extern const struct cli_values cmd_completion_values[];

enum cli_exit cmd_start(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
enum cli_exit cmd_stop(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
enum cli_exit cmd_enroll(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
enum cli_exit cmd_unenroll(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
enum cli_exit cmd_list(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
enum cli_exit cmd_status(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
enum cli_exit cmd_explain(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
enum cli_exit cmd_profile(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
enum cli_exit cmd_map(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
enum cli_exit cmd_doctor(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
enum cli_exit cmd_inspect(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
enum cli_exit cmd_torture(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
enum cli_exit cmd_completion(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
enum cli_exit cmd_version(struct cli *cli, const struct cmd *cmd, int argc, char **argv);
enum cli_exit cmd_help(struct cli *cli, const struct cmd *cmd, int argc, char **argv);

#endif
