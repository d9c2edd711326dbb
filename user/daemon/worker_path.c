// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../lib/util.h"
#include "worker_path.h"

#define WORKER "halo-opt"

static int open_worker(const char *path, int *fd)
{
	struct stat st;

	*fd = open(path, O_PATH | O_CLOEXEC);
	if (*fd < 0)
		return -errno;
	if (!fstat(*fd, &st) && S_ISREG(st.st_mode) && (st.st_mode & S_IXOTH))
		return 0;
	zclose(fd);
	return -EACCES;
}

static bool beside_us(char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 1);
	char *name;

	if (n <= 0)
		return false;
	path[n] = '\0';
	name = strrchr(path, '/');
	if (!name || (size_t)(name + 1 - path) + sizeof(WORKER) > size)
		return false;
	strcpy(name + 1, WORKER);
	return true;
}

int halo_worker__open(const char *path, int *fd, struct halo_err *err)
{
	static const char *const places[] = {
		"/usr/libexec/halo-bpf/" WORKER,
		"/usr/local/bin/" WORKER,
		"/usr/bin/" WORKER,
	};
	char beside[PATH_MAX];
	int ret;

	if (path) {
		ret = open_worker(path, fd);
		if (!ret)
			return 0;
		halo_err__set(err, ret, "the worker %s can't be used: %s", path, strerror(-ret));
		halo_err__remedy(err, "it has to be a program that every user may execute");
		return ret;
	}
	if (beside_us(beside, sizeof(beside)) && !open_worker(beside, fd))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (!open_worker(places[i], fd))
			return 0;
	halo_err__set(err, -ENOENT, "the worker " WORKER " is not found");
	halo_err__cause(err, "it is neither beside halo-bpf nor in the system's folders");
	halo_err__remedy(err, "install it, or name it with --opt");
	return -ENOENT;
}
