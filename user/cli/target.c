// SPDX-License-Identifier: BSD-2-Clause
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "../lib/prepared.h"
#include "../lib/util.h"
#include "target.h"

static bool is_number(const char *arg)
{
	return arg[0] && arg[strspn(arg, "0123456789")] == '\0';
}

/* 0: not the number of a process. */
static pid_t parse_pid(const char *arg)
{
	unsigned long n;

	if (!is_number(arg))
		return 0;
	errno = 0;
	n = strtoul(arg, NULL, 10);
	if (errno || n == 0 || n > INT_MAX)
		return 0;
	return kill(n, 0) == 0 || errno == EPERM ? (pid_t)n : 0;
}

static int set_path(const char *arg, struct target *target, struct halo_err *err)
{
	char cwd[PATH_MAX];
	int n;

	target->kind = TARGET_PATH;
	if (realpath(arg, target->text))
		return 0;
	/* The file may be gone and its program still enrolled. */
	if (arg[0] == '/')
		n = snprintf(target->text, sizeof(target->text), "%s", arg);
	else if (getcwd(cwd, sizeof(cwd)))
		n = snprintf(target->text, sizeof(target->text), "%s/%s", cwd, arg);
	else
		return halo_err__set(err, -errno, "current folder: %s", strerror(errno));
	if (n >= (int)sizeof(target->text))
		return halo_err__set(err, -ENAMETOOLONG, "the path is too long");
	return 0;
}

int target__parse(const char *arg, struct target *target, struct halo_err *err)
{
	struct halo_buildid id;

	memset(target, 0, sizeof(*target));
	if (strchr(arg, '/'))
		return set_path(arg, target, err);
	target->pid = parse_pid(arg);
	if (target->pid) {
		target->kind = TARGET_PID;
		return 0;
	}
	if (arg[0] && access(arg, F_OK) == 0)
		return set_path(arg, target, err);
	/* A short number is rather a process that is gone. */
	if (halo_buildid__parse(arg, &id) == 0 && (!is_number(arg) || strlen(arg) > 10)) {
		target->kind = TARGET_BUILD_ID;
		halo_buildid__format(&id, target->text);
		return 0;
	}
	if (is_number(arg)) {
		halo_err__set(err, -ESRCH, "there is no process %s", arg);
		halo_err__remedy(err, "give the number of a running process, or a path");
		return -ESRCH;
	}
	halo_err__set(err, -ENOENT, "'%s' is neither a file nor a process nor a build-id", arg);
	halo_err__remedy(err, "give a path, a process number, or a build-id of 2 to 40 "
			      "hexadecimal digits");
	return -ENOENT;
}

json_object *target__to_json(const struct target *target)
{
	json_object *args = json_object_new_object();

	switch (target->kind) {
	case TARGET_PATH:
		json_object_object_add(args, "path", json_object_new_string(target->text));
		break;
	case TARGET_PID:
		json_object_object_add(args, "pid", json_object_new_int(target->pid));
		break;
	case TARGET_BUILD_ID:
		json_object_object_add(args, "build_id", json_object_new_string(target->text));
		break;
	}
	return args;
}
