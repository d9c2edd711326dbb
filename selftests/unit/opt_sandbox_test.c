// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

/* What to try inside; 0 if it came out as it should. */
static int run_inside(int (*attempt)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(sandbox__enter(NULL) ? 99 : attempt());
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
}

static void work_is_allowed(void **state)
{
	(void)state;
	assert_int_equal(run_inside(try_exec), 0);
	assert_int_equal(run_inside(try_limits), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_denied),
		cmocka_unit_test(work_is_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
