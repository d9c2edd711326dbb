// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>

#include "../lib/prepared.h"
#include "../lib/version.h"
#include "cli.h"

enum cli_exit cmd_version(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
	struct cli_args args = {};
	json_object *obj;

	cli__parse(cli, cmd, argc, argv, &args);
	if (!cli->json) {
		printf("halo-bpf %s (program format %d, bitcode up to LLVM %d)\n", HALO_VERSION,
		       HALO_FORMAT_VERSION, HALO_LLVM_MAJOR);
		return CLI_OK;
	}
	obj = json_object_new_object();
	json_object_object_add(obj, "version", json_object_new_string(HALO_VERSION));
	json_object_object_add(obj, "format", json_object_new_int(HALO_FORMAT_VERSION));
	json_object_object_add(obj, "llvm", json_object_new_int(HALO_LLVM_MAJOR));
	cli__print_json(cli, obj);
	json_object_put(obj);
	return CLI_OK;
}
