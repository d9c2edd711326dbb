// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <stdarg.h>
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/err.h"
#include "lib/util.h"

static void test_set(void **state)
{
	struct halo_err err = {.cause = "old", .remedy = "old"};

	(void)state;
	assert_int_equal(halo_err__set(&err, -ENOENT, "open %s", "x"), -ENOENT);
	assert_int_equal(err.code, -ENOENT);
	assert_string_equal(err.what, "open x");
	assert_string_equal(err.cause, "");
	assert_string_equal(err.remedy, "");
	halo_err__cause(&err, "cause %d", 1);
	halo_err__remedy(&err, "remedy %d", 2);
	assert_string_equal(err.cause, "cause 1");
	assert_string_equal(err.remedy, "remedy 2");
}

static void test_clean(void **state)
{
	json_object *obj = json_tokener_parse("{\"error\": {\"what\": \"a\\u001bb\"}}");
	struct halo_err err = {};

	(void)state;
	halo_err__set(&err, -EIO, "a\033[31mb\nc");
	assert_string_equal(err.what, "a?[31mb c");
	assert_true(halo_err__from_json(&err, obj));
	assert_string_equal(err.what, "a?b");
	json_object_put(obj);
}

static void test_null(void **state)
{
	(void)state;
	assert_int_equal(halo_err__set(NULL, -EPERM, "x"), -EPERM);
	assert_int_equal(halo_err__wrap(NULL, -EPERM, "x"), -EPERM);
	halo_err__cause(NULL, "x");
	halo_err__remedy(NULL, "x");
}

static void test_wrap(void **state)
{
	struct halo_err err = {};

	(void)state;
	halo_err__set(&err, -ENOENT, "inner");
	halo_err__cause(&err, "cause");
	assert_int_equal(halo_err__wrap(&err, -EIO, "outer %d", 1), -ENOENT);
	assert_string_equal(err.what, "outer 1: inner");
	assert_string_equal(err.cause, "cause");

	memset(&err, 0, sizeof(err));
	assert_int_equal(halo_err__wrap(&err, -EACCES, "open"), -EACCES);
	assert_string_equal(err.what, "open: Permission denied");
}

static void test_long(void **state)
{
	char text[1000];
	struct halo_err err = {};

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	halo_err__set(&err, -EIO, "%s", text);
	halo_err__wrap(&err, -EIO, "%s", text);
	assert_int_equal(strlen(err.what), sizeof(err.what) - 1);
}

static void test_json(void **state)
{
	struct halo_err err = {}, back = {};
	json_object *obj, *inner, *value;

	(void)state;
	halo_err__set(&err, -ENODATA, "no \"bitcode\"");
	halo_err__cause(&err, "c");
	halo_err__remedy(&err, "r");
	obj = halo_err__to_json(&err);
	assert_true(json_object_object_get_ex(obj, "error", &inner));
	assert_true(json_object_object_get_ex(inner, "code", &value));
	assert_string_equal(json_object_get_string(value), "ENODATA");
	assert_true(halo_err__from_json(&back, obj));
	assert_memory_equal(&err, &back, sizeof(err));
	json_object_put(obj);

	obj = json_tokener_parse("{\"pid\": 1}");
	assert_false(halo_err__from_json(&back, obj));
	json_object_put(obj);
	/* What a peer may send instead of an error of the right form. */
	obj = json_tokener_parse("{\"error\": [\"x\"]}");
	if (halo_err__from_json(&back, obj))
		assert_true(back.code < 0);
	json_object_put(obj);
}

static void test_print(void **state)
{
	int fd = memfd_create("err_test", MFD_CLOEXEC), saved = dup(STDERR_FILENO);
	char text[256] = "";
	struct halo_err err = {};

	(void)state;
	halo_err__set(&err, -EIO, "what");
	halo_err__cause(&err, "why");
	halo_err__remedy(&err, "how");
	dup2(fd, STDERR_FILENO);
	halo_err__print(&err);
	dup2(saved, STDERR_FILENO);
	assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, "Error: what\n  cause:  why\n  remedy: how\n");
	close(fd);
	close(saved);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),   cmocka_unit_test(test_clean),
		cmocka_unit_test(test_null),  cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_long),  cmocka_unit_test(test_json),
		cmocka_unit_test(test_print),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
