// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>

#include "client.h"
#include "target.h"

static void print(json_object *answer)
{
	(void)answer;
	printf("unenrolled; its processes run their own code again\n");
}

enum cli_exit cmd_unenroll(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
	struct cli_args args = {.min = 1, .max = 1};
	struct target target;
	struct halo_err err;

	cli__parse(cli, cmd, argc, argv, &args);
	if (target__parse(args.values[0], &target, &err))
		return cli__fail(cli, CLI_FAILED, &err);
	return client__show(cli, "unenroll", target__to_json(&target), print);
}
