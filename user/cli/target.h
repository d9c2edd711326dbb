/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_CLI_TARGET_H
#define HALO_CLI_TARGET_H

/* What a person means by PATH|PID|BUILD-ID. */
#include <limits.h>
#include <sys/types.h>

#include <json-c/json.h>

#include "../lib/err.h"

enum target_kind {
	TARGET_PATH,
	TARGET_PID,
	TARGET_BUILD_ID,
};

struct target {
	enum target_kind kind;
	pid_t pid;
	char text[PATH_MAX]; /* absolute path, or build-id in lower case */
};

/*
 * What has a slash is a path; digits that are the number of a process are that; a file of that name
 * in the current folder is a path; hexadecimal digits are a build-id. -ENOENT: none of them.
 */
int target__parse(const char *arg, struct target *target, struct halo_err *err);

/* {"path": …}, {"pid": …} or {"build_id": …}, the arguments of a request. */
json_object *target__to_json(const struct target *target);

#endif
