// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "../user/lib/util.h"
#include "compile.h"
#include "files.h"
#include "link.h"

#define LINKER "ld.lld-19"

extern char **environ;

/* What the linker said, first line, into the cause. */
static void tell(int dir, struct halo_err *err)
{
	__cleanup_fd int fd = openat(dir, "link.log", O_RDONLY | O_CLOEXEC);
	char line[200];
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);

	if (n <= 0)
		return;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	halo_err__cause(err, "%s", line);
}

static int spawn(char *const argv[], pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int ret;

	ret = posix_spawn_file_actions_init(&actions);
	if (ret)
		return -ret;
	ret = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
		      ?: posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "link.log",
							  O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (!ret)
		ret = posix_spawnp(pid, LINKER, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -ret;
}

/* In the job's folder, which is the working directory. */
static int run_linker(const struct link_job *job, struct halo_err *err)
{
	char *argv[] = {(char *)LINKER,
			(char *)"-static",
			(char *)"-m",
			(char *)"elf_x86_64",
			(char *)"--no-dynamic-linker",
			(char *)"--build-id=sha1",
			(char *)"--eh-frame-hdr",
			(char *)"--threads=1",
			(char *)"--no-undefined",
			(char *)"--orphan-handling=error",
			(char *)"-znoexecstack",
			(char *)"-znorelro",
			(char *)"-zmax-page-size=4096",
			(char *)"-T",
			(char *)"image.ld",
			(char *)"-e",
			(char *)job->root,
			(char *)"-o",
			(char *)"image.elf",
			(char *)"object.o",
			(char *)"runtime.o",
			(char *)OPT_BUILTINS,
			NULL};
	int status, ret;
	pid_t pid;

	if (access(OPT_BUILTINS, R_OK))
		argv[ARRAY_SIZE(argv) - 2] = NULL;
	ret = spawn(argv, &pid);
	if (ret) {
		halo_err__set(err, ret, "can't run %s: %s", LINKER, strerror(-ret));
		halo_err__remedy(err, "install the package lld-19");
		return ret;
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return halo_err__set(err, -errno, "can't wait for %s", LINKER);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	halo_err__set(err, -ENOTSUP, "the optimized code can't be linked");
	tell(job->dir, err);
	return -ENOTSUP;
}

static int write_runtime(const struct link_job *job, struct halo_err *err)
{
	__cleanup_free char *text = NULL;
	LLVMMemoryBufferRef object = NULL;
	size_t len;
	int ret;

	ret = link__runtime_text(job, &text, &len, err);
	if (!ret)
		ret = compile__assembly(text, len, &object, err);
	if (!ret)
		ret = files__write(job->dir, "runtime.o", LLVMGetBufferStart(object),
				   LLVMGetBufferSize(object), err);
	if (object)
		LLVMDisposeMemoryBuffer(object);
	return ret;
}

static int write_script(const struct link_job *job, struct halo_err *err)
{
	__cleanup_free char *text = NULL;
	size_t len;
	int ret;

	ret = link__script_text(job, &text, &len, err);
	return ret ? ret : files__write(job->dir, "image.ld", text, len, err);
}

int link__image(const struct link_job *job, struct image *out, struct halo_err *err)
{
	__cleanup_fd int fd = -1;
	int ret;

	memset(out, 0, sizeof(*out));
	ret = write_runtime(job, err);
	if (!ret)
		ret = write_script(job, err);
	if (!ret)
		ret = run_linker(job, err);
	if (ret)
		return ret;
	fd = openat(job->dir, "image.elf", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return halo_err__set(err, -errno, "can't open the image");
	return image__read(fd, job, out, err);
}
