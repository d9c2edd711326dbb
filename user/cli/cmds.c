// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>

#include "cli.h"

#define TARGET "PATH|PID|BUILD-ID"

const struct cmd cli_cmds[] = {
	{"start", "", "start the daemon", cmd_start},
	{"stop", "", "stop the daemon", cmd_stop},
	{"enroll", TARGET, "watch and optimize a program", cmd_enroll},
	{"unenroll", TARGET, "go back to the program's own code and forget it", cmd_unenroll},
	{"list", "", "list the enrolled programs", cmd_list},
	{"status", "", "what the daemon does, has found and has won", cmd_status},
	{"explain", TARGET, "why the daemon did what it did to a program", cmd_explain},
	{"profile", "(PATH | --pid PID | --build-id HEX)", "sample a program, and write a profile",
	 cmd_profile},
	{"map", "[NAME]", "show the maps of the BPF programs, with names", cmd_map},
	{"doctor", "", "check what this machine offers and what is lost", cmd_doctor},
	{"inspect", "FILE", "show what halo-cc left in a file", cmd_inspect},
	{"torture", "PID|CMD [ARGUMENT...]", "switch code at random, as a test", cmd_torture},
	{"version", "", "print the version", cmd_version},
	{"help", "[COMMAND]", "show how to use a command", cmd_help},
};
const size_t cli_cmds_count = ARRAY_SIZE(cli_cmds);

size_t cmd__match(const struct cmd *cmds, size_t n, const char *name, const struct cmd **out)
{
	size_t len = strlen(name), matches = 0, i;

	for (i = 0; i < n; i++) {
		if (strcmp(cmds[i].name, name) == 0) {
			*out = &cmds[i];
			return 1;
		}
		if (len && strncmp(cmds[i].name, name, len) == 0 && !matches++)
			*out = &cmds[i];
	}
	return matches;
}

void cmd__candidates(const struct cmd *cmds, size_t n, const char *prefix, char *buf, size_t size)
{
	size_t len = strlen(prefix), used = 0, i;

	buf[0] = '\0';
	for (i = 0; i < n && used < size; i++)
		if (strncmp(cmds[i].name, prefix, len) == 0)
			used += snprintf(buf + used, size - used, "%s%s", used ? ", " : "",
					 cmds[i].name);
}

char *cmd__overview(const struct cmd *cmds, size_t n)
{
	char *text = NULL, usage[64];
	size_t size, i;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	fprintf(f, "Commands (a prefix is enough where it is unambiguous):\n");
	for (i = 0; i < n; i++) {
		snprintf(usage, sizeof(usage), "%s %s", cmds[i].name, cmds[i].args);
		fprintf(f, "  %-28s %s\n", usage, cmds[i].help);
	}
	fclose(f);
	return text;
}
