// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>

#include "client.h"
#include "target.h"

enum cli_exit cmd_unenroll(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
	struct cli_args args = {.min = 1, .max = 1};
	struct target target;
	json_object *answer;
	struct halo_err err;
	enum cli_exit ret;

	cli__parse(cli, cmd, argc, argv, &args);
	if (target__parse(args.values[0], &target, &err))
		return cli__fail(cli, CLI_FAILED, &err);
	ret = client__call("unenroll", target__to_json(&target), &answer, &err);
	if (ret)
		return cli__fail(cli, ret, &err);
	if (cli->json)
		cli__print_json(cli, answer);
	else
		printf("unenrolled; its processes run their own code again\n");
	json_object_put(answer);
	return CLI_OK;
}
