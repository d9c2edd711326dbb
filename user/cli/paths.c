// SPDX-License-Identifier: BSD-2-Clause
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../lib/util.h"
#include "paths.h"

static char *find_near(const char *const relative[], size_t n, int mode)
{
	char exe[PATH_MAX], *dir, *path;
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *found = NULL;
	size_t i;

	if (len < 0)
		return NULL;
	exe[len] = '\0';
	dir = dirname(exe);
	for (i = 0; i < n && !found; i++) {
		if (asprintf(&path, "%s/%s", dir, relative[i]) < 0)
			return NULL;
		if (access(path, mode) == 0)
			found = realpath(path, NULL);
		free(path);
	}
	return found;
}

char *paths__find_opt(void)
{
	static const char *const places[] = {"halo-opt", "../lib/halo-bpf/halo-opt"};

	return find_near(places, ARRAY_SIZE(places), X_OK);
}

char *paths__find_knobs(void)
{
	static const char *const places[] = {"../share/halo-bpf/knobs", "../knobs"};

	return find_near(places, ARRAY_SIZE(places), R_OK | X_OK);
}

char *paths__find_program(const char *name)
{
	const char *list = getenv("PATH"), *end;
	char *path;

	for (; list && *list; list = *end ? end + 1 : end) {
		end = strchrnul(list, ':');
		if (asprintf(&path, "%.*s/%s", (int)(end - list), list, name) < 0)
			return NULL;
		if (access(path, X_OK) == 0)
			return path;
		free(path);
	}
	return NULL;
}
