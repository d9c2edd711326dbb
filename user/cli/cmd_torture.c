// SPDX-License-Identifier: BSD-2-Clause
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "../lib/log.h"
#include "../torture/torture.h"
#include "cli.h"
#include "paths.h"

#define PID_SECONDS 10 /* for a process that may run for ever */

struct torture_args {
	struct torture_opts opts;
	bool has_seed;
	const char *report; /* file */
};

static int parse_number(const char *value, uint64_t max, uint64_t *out)
{
	char *end;

	if (value[0] < '0' || value[0] > '9')
		return -EINVAL;
	errno = 0;
	*out = strtoull(value, &end, 0);
	return errno || *end || *out > max ? -EINVAL : 0;
}

static int set(int key, const char *value, void *input)
{
	struct torture_args *args = input;
	const char **list;
	uint64_t n;

	switch (key) {
	case 's':
		if (parse_number(value, UINT_MAX, &n) || !n)
			return -EINVAL;
		args->opts.seconds = n;
		return 0;
	case 'S':
		args->has_seed = true;
		return parse_number(value, INT64_MAX, &args->opts.seed);
	case 'n':
		if (parse_number(value, UINT_MAX, &n) || !n)
			return -EINVAL;
		args->opts.functions = n;
		return 0;
	case 'O':
		list = reallocarray(args->opts.only, args->opts.n_only + 1, sizeof(*list));
		if (!list)
			return -ENOMEM;
		list[args->opts.n_only++] = value;
		args->opts.only = list;
		return 0;
	case 'H':
		args->opts.hold = true;
		return 0;
	case 'P':
		args->opts.program = value;
		return 0;
	default:
		args->report = value;
		return 0;
	}
}

static pid_t parse_pid(char **rest)
{
	uint64_t pid;

	return rest[0] && !rest[1] && !parse_number(rest[0], INT_MAX, &pid) ? (pid_t)pid : 0;
}

static int print_report(const struct cli *cli, const struct torture_args *args,
			const struct torture_report *report, struct halo_err *err)
{
	FILE *f = args->report ? fopen(args->report, "we") : stderr;
	int ret = 0;

	if (!f)
		return halo_err__set(err, -errno, "opening %s: %s", args->report, strerror(errno));
	if (cli->json) {
		json_object *obj = torture_report__json(&args->opts, report);

		fprintf(f, "%s\n",
			json_object_to_json_string_ext(obj, cli->pretty ? JSON_C_TO_STRING_PRETTY
									: JSON_C_TO_STRING_PLAIN));
		json_object_put(obj);
	} else {
		torture_report__print(&args->opts, report, f);
	}
	if (fflush(f))
		ret = halo_err__set(err, -errno, "writing the report: %s", strerror(errno));
	if (args->report)
		fclose(f);
	return ret;
}

/* The program's, as a shell would tell it; for one that was running already, 0. */
static int exit_code(const struct torture_report *report)
{
	if (WIFSIGNALED(report->status))
		return 128 + WTERMSIG(report->status);
	return WEXITSTATUS(report->status);
}

static enum cli_exit check_root(struct cli *cli)
{
	struct halo_err err = {};

	if (geteuid() == 0)
		return CLI_OK;
	halo_err__set(&err, -EPERM, "torture needs root");
	halo_err__cause(&err, "it maps memory into other processes, and mounts a file system");
	halo_err__remedy(&err, "sudo halo-bpf torture …");
	return cli__fail(cli, CLI_PRIVILEGE, &err);
}

const struct argp_option cmd_torture_options[] = {
	{"seconds", 's', "N", 0, "switch for that long (default: until the program ends)", 0},
	{"seed", 'S', "N", 0, "choose as in an earlier run", 0},
	{"functions", 'n', "MAX", 0, "compile no more than that", 0},
	{"only", 'O', "NAME", 0, "switch that function only (may be given again)", 0},
	{"hold", 'H', NULL, 0, "compile all before CMD is started", 0},
	{"program", 'P', "FILE", 0, "what to torture, if CMD only starts it", 0},
	{"report", 'R', "FILE", 0, "write the report there, not to standard error", 0},
	{},
};

enum cli_exit cmd_torture(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
	struct torture_args torture = {};
	struct cli_args args = {.min = 1, .set = set, .input = &torture, .command = true};
	__cleanup_free char *opt_path = NULL, *knobs_dir = NULL;
	struct torture_report report = {};
	struct halo_err err = {};
	enum cli_exit code;
	int ret;

	cli__parse(cli, cmd, argc, argv, &args);
	code = check_root(cli);
	if (code)
		return code;
	if (!cli->verbose)
		halo_log__set_level(HALO_LOG_WARN);
	if (!torture.has_seed)
		torture.opts.seed = (uint64_t)time(NULL) << 16 ^ getpid();
	torture.opts.argv = args.rest;
	torture.opts.pid = parse_pid(args.rest);
	if (torture.opts.pid && !torture.opts.seconds)
		torture.opts.seconds = PID_SECONDS;
	torture.opts.opt_path = opt_path = paths__find_opt();
	torture.opts.knobs_dir = knobs_dir = paths__find_knobs();
	ret = torture__run(&torture.opts, &report, &err);
	if (!ret)
		ret = print_report(cli, &torture, &report, &err);
	code = ret ? cli__fail(cli, CLI_FAILED, &err) : (enum cli_exit)exit_code(&report);
	torture_report__free(&report);
	free(torture.opts.only);
	return code;
}
