// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox.h"

static char folder[] = "/tmp/halo-sandbox-XXXXXX";
static int folder_fd = -1;

/* What to try inside; 0 if it came out as it should. */
static int run_inside(int (*attempt)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(sandbox__enter(folder_fd, NULL) ? 99 : attempt());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

static int denied(long ret)
{
	return !(ret == -1 && errno == EPERM);
}

static int try_socket(void)
{
	return denied(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int try_ptrace(void)
{
	return denied(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static int try_mount(void)
{
	return denied(mount("none", "/", "tmpfs", MS_RDONLY, NULL));
}

static int try_bpf(void)
{
	return denied(syscall(SYS_bpf, 0, NULL, 0));
}

static int try_perf(void)
{
	return denied(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
}

static int try_keyctl(void)
{
	return denied(syscall(SYS_keyctl, 0, 0, 0, 0, 0));
}

static int try_namespace(void)
{
	return denied(syscall(SYS_clone, CLONE_NEWUSER, NULL, NULL, NULL, NULL));
}

/* What leaves the group outlives the job. */
static int try_session(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(denied(setsid()) || denied(setpgid(0, 0)));
	return waitpid(pid, &status, 0) != pid || status;
}

static int try_folder(void)
{
	return denied(mkdir("/tmp/halo-sandbox-test", 0700)) ||
	       denied(mkdirat(AT_FDCWD, "/tmp/halo-sandbox-test", 0700));
}

/* One of root's own, one that all may read, one that all may make. */
static int try_files(void)
{
	return !(open("/etc/shadow", O_RDONLY) < 0 && errno == EACCES) ||
	       !(open("/etc/passwd", O_RDONLY) < 0 && errno == EACCES) ||
	       !(open("/proc/self/environ", O_RDONLY) < 0 && errno == EACCES) ||
	       !(open("/tmp/halo-sandbox-file", O_WRONLY | O_CREAT, 0600) < 0 && errno == EACCES) ||
	       !(open("/usr/halo-sandbox-file", O_WRONLY | O_CREAT, 0600) < 0 && errno == EACCES);
}

static int try_folder_files(void)
{
	int fd = openat(folder_fd, "image", O_WRONLY | O_CREAT | O_TRUNC, 0600);

	return fd < 0 || write(fd, "x", 1) != 1 ||
	       renameat(folder_fd, "image", folder_fd, "other") ||
	       openat(folder_fd, "other", O_RDONLY | O_TRUNC) < 0 ||
	       unlinkat(folder_fd, "other", 0) || open("/dev/null", O_RDWR) < 0;
}

/* One that no list can have thought of: it comes with a later kernel. */
static int try_unknown(void)
{
	return denied(syscall(4000));
}

/* The linker must still start. */
static int try_exec(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	return waitpid(pid, &status, 0) != pid || status;
}

static int try_limits(void)
{
	struct rlimit as, core;

	return getrlimit(RLIMIT_AS, &as) || getrlimit(RLIMIT_CORE, &core) ||
	       as.rlim_max == RLIM_INFINITY || core.rlim_max != 0;
}

static void calls_are_denied(void **state)
{
	(void)state;
	assert_int_equal(run_inside(try_socket), 0);
	assert_int_equal(run_inside(try_ptrace), 0);
	assert_int_equal(run_inside(try_mount), 0);
	assert_int_equal(run_inside(try_bpf), 0);
	assert_int_equal(run_inside(try_perf), 0);
	assert_int_equal(run_inside(try_keyctl), 0);
	assert_int_equal(run_inside(try_namespace), 0);
	assert_int_equal(run_inside(try_session), 0);
	assert_int_equal(run_inside(try_folder), 0);
	assert_int_equal(run_inside(try_unknown), 0);
}

static void work_is_allowed(void **state)
{
	(void)state;
	assert_int_equal(run_inside(try_exec), 0);
	assert_int_equal(run_inside(try_folder_files), 0);
	assert_int_equal(run_inside(try_limits), 0);
}

static void files_are_denied(void **state)
{
	(void)state;
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < 1) {
		print_message("no Landlock here\n");
		skip();
	}
	assert_int_equal(run_inside(try_files), 0);
}

static int make_folder(void **state)
{
	(void)state;
	folder_fd = mkdtemp(folder) ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	return folder_fd < 0;
}

static int remove_folder(void **state)
{
	(void)state;
	close(folder_fd);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_denied),
		cmocka_unit_test(files_are_denied),
		cmocka_unit_test(work_is_allowed),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
