// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>

#include "cli.h"

#define TARGET "PATH|PID|BUILD-ID"

static const char *const group_names[] = {
	[CMD_DAEMON] = "The daemon",
	[CMD_PROGRAMS] = "Programs",
	[CMD_LOOK] = "Looking inside",
	[CMD_TOOLS] = "Tools",
};

/* In the order of their groups. */
const struct cmd cli_cmds[] = {
	{
		.name = "start",
		.args = "",
		.help = "start the daemon",
		.func = cmd_start,
		.group = CMD_DAEMON,
		.options = cmd_start_options,
	},
	{
		.name = "stop",
		.args = "",
		.help = "stop the daemon",
		.func = cmd_stop,
		.group = CMD_DAEMON,
	},
	{
		.name = "status",
		.args = "",
		.help = "what the daemon does, has found and has won",
		.func = cmd_status,
		.group = CMD_DAEMON,
	},
	{
		.name = "doctor",
		.args = "",
		.help = "check what this machine offers and what is lost",
		.func = cmd_doctor,
		.group = CMD_DAEMON,
		.options = cmd_doctor_options,
	},
	{
		.name = "enroll",
		.args = TARGET,
		.help = "watch and optimize a program",
		.func = cmd_enroll,
		.group = CMD_PROGRAMS,
		.complete = COMPLETE_TARGET,
		.options = cmd_enroll_options,
		.values = cmd_enroll_values,
	},
	{
		.name = "unenroll",
		.args = TARGET,
		.help = "go back to the program's own code and forget it",
		.func = cmd_unenroll,
		.group = CMD_PROGRAMS,
		.complete = COMPLETE_TARGET,
	},
	{
		.name = "list",
		.args = "",
		.help = "list the enrolled programs",
		.func = cmd_list,
		.group = CMD_PROGRAMS,
	},
	{
		.name = "explain",
		.args = TARGET,
		.help = "why the daemon did what it did to a program",
		.func = cmd_explain,
		.group = CMD_LOOK,
		.complete = COMPLETE_TARGET,
	},
	{
		.name = "profile",
		.args = "(PATH | --pid PID | --build-id HEX)",
		.help = "sample a program, and write a profile",
		.func = cmd_profile,
		.group = CMD_LOOK,
		.complete = COMPLETE_FILE,
		.options = cmd_profile_options,
		.values = cmd_profile_values,
	},
	{
		.name = "map",
		.args = "[NAME]",
		.help = "show the maps of the BPF programs, with names",
		.func = cmd_map,
		.group = CMD_LOOK,
		.values = cmd_map_values,
	},
	{
		.name = "inspect",
		.args = "FILE",
		.help = "show what halo-cc left in a file",
		.func = cmd_inspect,
		.group = CMD_LOOK,
		.complete = COMPLETE_FILE,
	},
	{
		.name = "torture",
		.args = "PID|CMD [ARGUMENT...]",
		.help = "switch code at random, as a test",
		.func = cmd_torture,
		.group = CMD_TOOLS,
		.complete = COMPLETE_COMMAND,
		.options = cmd_torture_options,
	},
	{
		.name = "completion",
		.args = "SHELL",
		.help = "print what completes commands in a shell",
		.func = cmd_completion,
		.group = CMD_TOOLS,
		.values = cmd_completion_values,
	},
	{
		.name = "version",
		.args = "",
		.help = "print the version",
		.func = cmd_version,
		.group = CMD_TOOLS,
	},
	{
		.name = "help",
		.args = "[COMMAND]",
		.help = "show how to use a command",
		.func = cmd_help,
		.group = CMD_TOOLS,
	},
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
	for (i = 0; i < n; i++) {
		if (!i || cmds[i].group != cmds[i - 1].group)
			fprintf(f, "%s%s:\n", i ? "\n" : "", group_names[cmds[i].group]);
		snprintf(usage, sizeof(usage), "%s %s", cmds[i].name, cmds[i].args);
		fprintf(f, "  %-28s %s\n", usage, cmds[i].help);
	}
	fprintf(f, "\nA prefix of a command is enough where it is unambiguous.\n");
	fclose(f);
	return text;
}

const char *const *cmd__values(const struct cmd *cmd, int key)
{
	const struct cli_values *v;

	for (v = cmd->values; v && v->names; v++)
		if (v->key == key)
			return v->names;
	return NULL;
}

void cli__join(const char *const *names, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (; *names && used < size; names++)
		used += snprintf(buf + used, size - used, "%s%s", used ? ", " : "", *names);
}

static json_object *values_json(const char *const *names)
{
	json_object *list = json_object_new_array();

	for (; *names; names++)
		json_object_array_add(list, json_object_new_string(*names));
	return list;
}

static json_object *options_json(const struct cmd *cmd)
{
	json_object *list = json_object_new_array();
	const struct argp_option *o;

	for (o = cmd->options; o && o->name; o++) {
		const char *const *values = cmd__values(cmd, o->key);
		json_object *obj = json_object_new_object();
		char key[2] = {o->key};

		json_object_object_add(obj, "name", json_object_new_string(o->name));
		if (o->key < 128)
			json_object_object_add(obj, "key", json_object_new_string(key));
		if (o->arg)
			json_object_object_add(obj, "arg", json_object_new_string(o->arg));
		json_object_object_add(obj, "help", json_object_new_string(o->doc));
		if (values)
			json_object_object_add(obj, "values", values_json(values));
		json_object_array_add(list, obj);
	}
	return list;
}

json_object *cmd__json(const struct cmd *cmds, size_t n)
{
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < n; i++) {
		const char *const *values = cmd__values(&cmds[i], 0);
		json_object *obj = json_object_new_object();

		json_object_object_add(obj, "name", json_object_new_string(cmds[i].name));
		json_object_object_add(obj, "args", json_object_new_string(cmds[i].args));
		json_object_object_add(obj, "help", json_object_new_string(cmds[i].help));
		json_object_object_add(obj, "group",
				       json_object_new_string(group_names[cmds[i].group]));
		json_object_object_add(obj, "options", options_json(&cmds[i]));
		if (values)
			json_object_object_add(obj, "values", values_json(values));
		json_object_array_add(list, obj);
	}
	return list;
}
