// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>

#include "client.h"
#include "json.h"
#include "table.h"
#include "target.h"

static void print_considered(json_object *considered)
{
	static const char *const headers[] = {"FUNCTION", ">SHARE", "VERDICT", "REASON", NULL};
	struct table *t;
	size_t i;

	if (!js__len(considered)) {
		printf("nothing was considered yet\n");
		return;
	}
	printf("considered:\n");
	t = table__new(headers);
	for (i = 0; i < js__len(considered); i++) {
		json_object *c = js__at(considered, i);

		table__cell(t, "%s", js__str(c, "function"));
		table__cell(t, "%.1f %%", 100 * js__double(c, "share"));
		table__cell(t, "%s", js__str(c, "verdict"));
		table__cell(t, "%s", js__str(c, "reason"));
	}
	table__print(t, stdout, 2);
	table__free(t);
}

static void print_sections(json_object *sections)
{
	size_t i;

	if (!js__len(sections))
		return;
	printf("sections:\n");
	for (i = 0; i < js__len(sections); i++) {
		json_object *s = js__at(sections, i);

		printf("  ");
		print_clean(stdout, js__str(s, "root"));
		printf(": %s, runs %s", js__str(s, "state"), js__str(s, "version"));
		if (js__int(s, "pairs"))
			printf(", %.2f times as fast (%.2f to %.2f, %ld pairs)",
			       js__double(s, "speedup"), js__double(s, "low"),
			       js__double(s, "high"), js__int(s, "pairs"));
		if (js__str(s, "reason")[0]) {
			printf(": ");
			print_clean(stdout, js__str(s, "reason"));
		}
		printf("\n");
	}
}

static void print_events(json_object *events)
{
	size_t i;

	if (js__len(events))
		printf("events:\n");
	for (i = 0; i < js__len(events); i++) {
		json_object *e = js__at(events, i);

		printf("  %s  ", js__str(e, "time"));
		print_clean(stdout, js__str(e, "text"));
		printf("\n");
	}
}

static void print(json_object *answer)
{
	print_clean(stdout, js__str(answer, "path"));
	printf(" (build-id %s)\n", js__str(answer, "build_id"));
	print_considered(js__get(answer, "considered"));
	print_sections(js__get(answer, "sections"));
	print_events(js__get(answer, "events"));
}

enum cli_exit cmd_explain(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
	struct cli_args args = {.min = 1, .max = 1};
	struct target target;
	struct halo_err err;

	cli__parse(cli, cmd, argc, argv, &args);
	if (target__parse(args.values[0], &target, &err))
		return cli__fail(cli, CLI_FAILED, &err);
	return client__show(cli, "explain", target__to_json(&target), print);
}
