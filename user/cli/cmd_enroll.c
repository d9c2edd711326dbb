// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "json.h"
#include "table.h"
#include "target.h"

static int set_fp(int key, const char *value, void *input)
{
	(void)key;
	*(const char **)input = value;
	return 0;
}

static void print(json_object *program)
{
	size_t n = js__len(js__get(program, "pids"));

	printf("enrolled ");
	print_clean(stdout, js__str(program, "path"));
	printf("\n  build-id   %s\n", js__str(program, "build_id"));
	printf("  processes  %zu\n", n);
}

const struct argp_option cmd_enroll_options[] = {
	{"fp", 'f', "POLICY", 0,
	 "what may change in floating-point results: exact (nothing, the default), "
	 "contract (fused multiply-add), reassoc (the order of sums)",
	 0},
	{},
};

static const char *const policies[] = {"exact", "contract", "reassoc", NULL};
const struct cli_values cmd_enroll_values[] = {{'f', policies}, {}};

enum cli_exit cmd_enroll(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
	const char *fp = NULL;
	struct cli_args args = {.min = 1, .max = 1, .set = set_fp, .input = &fp};
	json_object *request;
	struct target target;
	struct halo_err err;

	cli__parse(cli, cmd, argc, argv, &args);
	if (target__parse(args.values[0], &target, &err))
		return cli__fail(cli, CLI_FAILED, &err);
	request = target__to_json(&target);
	if (fp)
		json_object_object_add(request, "fp", json_object_new_string(fp));
	return client__show(cli, "enroll", request, print);
}
