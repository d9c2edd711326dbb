// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../lib/util.h"
#include "internal.h"

/* As execvp() would find it. */
static int find_program(const char *name, char **out, struct halo_err *err)
{
	__cleanup_free char *list = strdup(getenv("PATH") ?: "/usr/bin:/bin");
	char *path = NULL, *dir, *rest = list;

	if (strchr(name, '/')) {
		*out = realpath(name, NULL);
		if (*out)
			return 0;
		return halo_err__set(err, -errno, "%s: %s", name, strerror(errno));
	}
	while ((dir = strsep(&rest, ":"))) {
		if (asprintf(&path, "%s/%s", *dir ? dir : ".", name) < 0)
			return halo_err__set(err, -ENOMEM, "out of memory");
		*out = access(path, X_OK) ? NULL : realpath(path, NULL);
		free(path);
		if (*out)
			return 0;
	}
	return halo_err__set(err, -ENOENT, "%s: there is no such program", name);
}

static int name_program(struct torture *t, char **path, struct halo_err *err)
{
	const struct torture_opts *opts = t->opts;

	if (!opts->pid)
		return find_program(opts->program ? opts->program : opts->argv[0], path, err);
	if (asprintf(path, "/proc/%d/exe", opts->pid) < 0)
		return halo_err__set(err, -ENOMEM, "out of memory");
	return 0;
}

int torture__open_program(struct torture *t, struct halo_err *err)
{
	__cleanup_free char *path = NULL;
	__cleanup_fd int fd = -1;
	char link[PATH_MAX];
	struct stat st;
	ssize_t n;
	int ret;

	ret = name_program(t, &path, err);
	if (ret)
		return ret;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return halo_err__set(err, -errno, "opening %s: %s", path, strerror(errno));
	n = readlink(path, link, sizeof(link) - 1);
	if (!fstat(fd, &st)) {
		t->exe_dev = st.st_dev;
		t->exe_ino = st.st_ino;
	}
	t->report->program = n > 0 ? strndup(link, n) : strdup(path);
	ret = halo_prepared__open(fd, &t->prepared, err);
	if (ret) {
		if (ret == -ENOEXEC || ret == -ENODATA)
			halo_err__remedy(err, "build it with halo-cc; if it only starts another "
					      "program, name that with --program");
		return halo_err__wrap(err, ret, "%s", path);
	}
	if (!t->prepared->has_stub || t->prepared->is_library)
		return halo_err__set(err, -ENODATA, "%s can't be attached: %s", path,
				     t->prepared->is_library ? "it is a shared library"
							     : "it was linked without halo-cc");
	return 0;
}

static void __attribute__((noreturn)) run_child(struct torture *t, int error_fd)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (!setenv("HALO_SOCKET", t->socket, 1))
		execvp(t->opts->argv[0], t->opts->argv);
	dprintf(error_fd, "%d", errno);
	_exit(127);
}

static int read_error(int fd)
{
	char buf[16] = "";

	return read(fd, buf, sizeof(buf) - 1) > 0 ? atoi(buf) : 0;
}

int torture__start_child(struct torture *t, struct halo_err *err)
{
	__cleanup_fd int read_fd = -1;
	int fds[2], error;

	if (pipe2(fds, O_CLOEXEC))
		return halo_err__set(err, -errno, "making a pipe: %s", strerror(errno));
	read_fd = fds[0];
	t->child = fork();
	if (!t->child)
		run_child(t, fds[1]);
	close(fds[1]);
	if (t->child < 0)
		return halo_err__set(err, -errno, "starting a process: %s", strerror(errno));
	error = read_error(read_fd);
	if (!error)
		return 0;
	waitpid(t->child, NULL, 0);
	t->child = 0;
	return halo_err__set(err, -error, "starting %s: %s", t->opts->argv[0], strerror(error));
}
