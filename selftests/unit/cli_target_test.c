// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "cli/target.h"
#include "lib/util.h"

static char dir[] = "/tmp/halo-target.XXXXXX";

static void touch(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static void assert_path(const char *arg, const char *name)
{
	char want[PATH_MAX + 64];
	struct target t;

	snprintf(want, sizeof(want), "%s/%s", dir, name);
	assert_int_equal(target__parse(arg, &t, NULL), 0);
	assert_int_equal(t.kind, TARGET_PATH);
	assert_string_equal(t.text, want);
}

/* A number that no process has: it was this child's, which is gone. */
static pid_t dead_pid(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static void test_path(void **state)
{
	(void)state;
	touch("program");
	assert_int_equal(symlink("program", "link"), 0);
	assert_path("program", "program");
	assert_path("./program", "program");
	assert_path("link", "program");
	/* A slash makes it a path even if it does not exist. */
	assert_path("./gone", "./gone");
	/* A file in this folder comes before a build-id. */
	touch("abcd");
	assert_path("abcd", "abcd");
}

static void test_pid(void **state)
{
	struct target t;
	char arg[32];

	(void)state;
	snprintf(arg, sizeof(arg), "%d", getpid());
	assert_int_equal(target__parse(arg, &t, NULL), 0);
	assert_int_equal(t.kind, TARGET_PID);
	assert_int_equal(t.pid, getpid());

	snprintf(arg, sizeof(arg), "%d", dead_pid());
	assert_int_equal(target__parse(arg, &t, NULL), -ESRCH);
	touch(arg);
	assert_path(arg, arg);
}

static void test_build_id(void **state)
{
	struct target t;

	(void)state;
	assert_int_equal(target__parse("00112233445566778899AABBCCDDEEFF00112233", &t, NULL), 0);
	assert_int_equal(t.kind, TARGET_BUILD_ID);
	assert_string_equal(t.text, "00112233445566778899aabbccddeeff00112233");
	/* Digits only, but too many for a process. */
	assert_int_equal(target__parse("1111111111222222222233333333334444444444", &t, NULL), 0);
	assert_int_equal(t.kind, TARGET_BUILD_ID);
	assert_int_equal(target__parse("abc", &t, NULL), -ENOENT);
}

static void test_nothing(void **state)
{
	struct halo_err err = {};
	struct target t;

	(void)state;
	assert_int_equal(target__parse("", &t, &err), -ENOENT);
	assert_int_equal(target__parse("no such thing", &t, &err), -ENOENT);
	assert_true(err.what[0] && err.remedy[0]);
	assert_int_equal(target__parse("0", &t, &err), -ESRCH);
	assert_int_equal(target__parse("-1", &t, &err), -ENOENT);
}

static void test_json(void **state)
{
	struct target t = {.kind = TARGET_PID, .pid = 7};
	json_object *obj = target__to_json(&t);

	(void)state;
	assert_string_equal(json_object_to_json_string_ext(obj, 0), "{\"pid\":7}");
	json_object_put(obj);
	t = (struct target){.kind = TARGET_BUILD_ID, .text = "abcd"};
	obj = target__to_json(&t);
	assert_string_equal(json_object_to_json_string_ext(obj, 0), "{\"build_id\":\"abcd\"}");
	json_object_put(obj);
}

static int setup(void **state)
{
	(void)state;
	return mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
	char cmd[64];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path),	 cmocka_unit_test(test_pid),
		cmocka_unit_test(test_build_id), cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
