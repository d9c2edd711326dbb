// SPDX-License-Identifier: BSD-2-Clause
/* The file that a program was, by its path and its build-id. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

#define DEBUG_DIR "/usr/lib/debug/.build-id"

/* A descriptor if the file at @path has that build-id, else -errno. */
static int try_path(const char *path, const struct halo_buildid *id)
{
	__cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct halo_buildid found;
	int ret;

	if (fd < 0)
		return -errno;
	ret = halo_buildid__read(fd, &found, NULL);
	if (ret)
		return ret;
	if (found.len != id->len || memcmp(found.id, id->id, id->len))
		return -ESTALE;
	return take_fd(fd);
}

int halo_symbols__find(const char *path, const struct halo_buildid *id, pid_t pid,
		       struct halo_err *err)
{
	char text[2 * HALO_BUILD_ID_MAX + 1], other[PATH_MAX];
	int fd = try_path(path, id);

	halo_buildid__format(id, text);
	if (fd < 0 && pid) {
		snprintf(other, sizeof(other), "/proc/%d/root%s", pid, path);
		fd = try_path(other, id);
	}
	if (fd < 0) {
		snprintf(other, sizeof(other), DEBUG_DIR "/%.2s/%s.debug", text, text + 2);
		fd = try_path(other, id);
	}
	if (fd >= 0)
		return fd;
	halo_err__set(err, -ENOENT, "there is no file with build-id %s", text);
	halo_err__cause(err, "%.200s is gone, or was built anew since", path);
	halo_err__remedy(err, "install its debug symbols, or put the old file back");
	return -ENOENT;
}
