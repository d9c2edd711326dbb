// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>

#include "cli.h"

void cli__print_json(const struct cli *cli, json_object *obj)
{
	int flags = JSON_C_TO_STRING_NOSLASHESCAPE;

	flags |= cli->pretty ? JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED
			     : JSON_C_TO_STRING_PLAIN;
	printf("%s\n", json_object_to_json_string_ext(obj, flags));
}

enum cli_exit cli__fail(const struct cli *cli, enum cli_exit code, const struct halo_err *err)
{
	json_object *obj;

	fflush(stdout);
	if (!cli->json) {
		halo_err__print(err);
		return code;
	}
	obj = halo_err__to_json(err);
	cli__print_json(cli, obj);
	json_object_put(obj);
	return code;
}
