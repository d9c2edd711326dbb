// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>

#include "../lib/figures.h"
#include "client.h"
#include "json.h"
#include "table.h"

/* A line for each figure that is not zero, with its share: nothing is lost in silence. */
static void print_figures(json_object *stats)
{
	for (size_t i = HALO_STAT_KERNEL; i < ARRAY_SIZE(halo_figures); i++) {
		const struct halo_figure *f = &halo_figures[i];
		long n = js__int(stats, f->key), all = js__int(stats, halo_figures[f->of].key);

		if (!n)
			continue;
		printf("          %ld %s", n, f->text);
		if (f->of != i && all)
			printf(" (%.3g %% of %s)", 100.0 * n / all, halo_figures[f->of].key);
		printf("\n");
	}
}

static void print_rooms(json_object *rooms)
{
	static const struct {
		const char *key, *what, *lost;
	} lines[] = {
		{"files", "files with code are known", "files whose code has no place"},
		{"frame_bytes", "bytes of frame descriptions",
		 "files left by frame pointer: no room for their frame descriptions"},
		{"mappings", "executable mappings", "processes whose mappings found no room"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		json_object *room = js__get(rooms, lines[i].key);
		long used = js__int(room, "used"), size = js__int(room, "size");

		printf("%s%ld of %ld %s (%.3g %%)\n", i ? "          " : "room      ", used, size,
		       lines[i].what, size ? 100.0 * used / size : 0);
		if (js__int(room, "refused"))
			printf("          %ld %s\n", js__int(room, "refused"), lines[i].lost);
	}
}

static void print_daemon(json_object *daemon)
{
	json_object *stats = js__get(daemon, "stats"), *jobs = js__get(daemon, "jobs");

	printf("daemon    pid %ld, version %s, up %.1f s, %.2f %% of one CPU\n",
	       js__int(daemon, "pid"), js__str(daemon, "version"), js__double(daemon, "uptime_s"),
	       100 * js__double(daemon, "cpu_share"));
	printf("sampling  %s, %ld per second on %ld of %ld CPUs", js__str(daemon, "tier"),
	       js__int(daemon, "rate_hz"), js__int(daemon, "cpus"), js__int(daemon, "cpus_online"));
	if (js__str(daemon, "tier_reason")[0])
		printf(" (%s)", js__str(daemon, "tier_reason"));
	printf("\nsamples   %ld of %ld ticks\n", js__int(stats, "samples"),
	       js__int(stats, "ticks"));
	print_figures(stats);
	if (js__int(jobs, "died") || js__int(jobs, "late"))
		printf("compiling %ld workers, of which %ld died and %ld were ended at their "
		       "deadline\n",
		       js__int(jobs, "started"), js__int(jobs, "died"), js__int(jobs, "late"));
	print_rooms(js__get(daemon, "room"));
}

static void print_pids(json_object *pids)
{
	size_t i;

	printf("  processes");
	for (i = 0; i < js__len(pids); i++) {
		json_object *pid = js__at(pids, i);
		const char *reason = js__str(pid, "reason");

		printf("%s %ld", i ? "," : " ", js__int(pid, "pid"));
		if (js__int(pid, "attached"))
			continue;
		printf(" (not attached%s", reason[0] ? ": " : "");
		print_clean(stdout, reason);
		printf(")");
	}
	printf("%s\n", i ? "" : "  none");
}

static void print_samples(json_object *samples)
{
	if (!json_object_is_type(samples, json_type_object))
		return;
	printf("  samples   ");
	json_object_object_foreach(samples, tier, count)
		printf(" %s %ld", tier, json_object_get_int64(count));
	printf("\n");
}

static void print_sections(json_object *sections)
{
	static const char *const headers[] = {"SECTION",   "STATE",    "VERSION",
					      ">SPEED-UP", "INTERVAL", ">PAIRS",
					      ">TRIALS",   "REASON",   NULL};
	struct table *t;
	size_t i;

	if (!js__len(sections))
		return;
	t = table__new(headers);
	for (i = 0; i < js__len(sections); i++) {
		json_object *s = js__at(sections, i);

		table__cell(t, "%s", js__str(s, "root"));
		table__cell(t, "%s", js__str(s, "state"));
		table__cell(t, "%s", js__str(s, "version"));
		if (js__int(s, "pairs")) {
			table__cell(t, "%.2f", js__double(s, "speedup"));
			table__cell(t, "%.2f to %.2f", js__double(s, "low"), js__double(s, "high"));
		} else {
			table__cell(t, "-");
			table__cell(t, "-");
		}
		table__cell(t, "%ld", js__int(s, "pairs"));
		table__cell(t, "%ld", js__int(s, "trials"));
		table__cell(t, "%s", js__str(s, "reason"));
	}
	table__print(t, stdout, 2);
	table__free(t);
}

static void print_program(json_object *program)
{
	const char *reason = js__str(program, "reason");

	printf("\n");
	print_clean(stdout, js__str(program, "path"));
	printf("\n  build-id   %s\n", js__str(program, "build_id"));
	printf("  state      %s%s", js__str(program, "state"), reason[0] ? ": " : "");
	print_clean(stdout, reason);
	printf("\n  fp         %s\n", js__str(program, "fp"));
	print_pids(js__get(program, "pids"));
	print_samples(js__get(program, "samples"));
	print_sections(js__get(program, "sections"));
}

static void print(json_object *answer)
{
	json_object *programs = js__get(answer, "programs");
	size_t i;

	print_daemon(js__get(answer, "daemon"));
	if (!js__len(programs))
		printf("\nno program is enrolled\n");
	for (i = 0; i < js__len(programs); i++)
		print_program(js__at(programs, i));
}

enum cli_exit cmd_status(struct cli *cli, const struct cmd *cmd, int argc, char **argv)
{
	struct cli_args args = {};

	cli__parse(cli, cmd, argc, argv, &args);
	return client__show(cli, "status", NULL, print);
}
