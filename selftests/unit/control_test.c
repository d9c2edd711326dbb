// SPDX-License-Identifier: BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/control.h"
#include "lib/util.h"

static int parse(const char *text, struct halo_request *r)
{
	struct halo_err err = {0};
	int ret = halo_control__parse(text, strlen(text), r, &err);

	assert_true(!ret == !err.what[0]);
	return ret;
}

static void test_good(void **state)
{
	struct halo_request r;

	(void)state;
	assert_int_equal(parse("{\"cmd\": \"status\"}", &r), 0);
	assert_string_equal(r.cmd, "status");
	assert_null(r.target.path);
	assert_string_equal(r.fp, "exact");
	halo_control__free_request(&r);

	assert_int_equal(parse("{\"cmd\": \"enroll\", \"args\": {\"path\": \"/bin/x\","
			       " \"fp\": \"contract\"}}",
			       &r),
			 0);
	assert_string_equal(r.target.path, "/bin/x");
	assert_string_equal(r.fp, "contract");
	halo_control__free_request(&r);

	assert_int_equal(parse("{\"cmd\": \"enroll\", \"args\": {\"pid\": 7}}", &r), 0);
	assert_int_equal(r.target.pid, 7);
	halo_control__free_request(&r);
}

static void test_bad(void **state)
{
	const char *texts[] = {
		"",
		"{",
		"[]",
		"null",
		"\"status\"",
		"{}",
		"{\"cmd\": 1}",
		"{\"cmd\": \"\"}",
		"{\"cmd\": null}",
		"{\"cmd\": \"a\\u0000b\"}",
		"{\"cmd\": \"enroll\", \"args\": []}",
		"{\"cmd\": \"enroll\", \"args\": {\"path\": 7}}",
		"{\"cmd\": \"enroll\", \"args\": {\"path\": \"\"}}",
		"{\"cmd\": \"enroll\", \"args\": {\"path\": \"/a\\u0000b\"}}",
		"{\"cmd\": \"enroll\", \"args\": {\"pid\": \"7\"}}",
		"{\"cmd\": \"enroll\", \"args\": {\"pid\": 0}}",
		"{\"cmd\": \"enroll\", \"args\": {\"pid\": -1}}",
		"{\"cmd\": \"enroll\", \"args\": {\"pid\": 2147483648}}",
		"{\"cmd\": \"enroll\", \"args\": {\"pid\": 4294967297}}",
		"{\"cmd\": \"enroll\", \"args\": {\"pid\": 7, \"path\": \"/a\"}}",
		"{\"cmd\": \"enroll\", \"args\": {\"path\": \"/a\", \"fp\": \"fast\"}}",
		"{\"cmd\": \"enroll\", \"args\": {\"path\": \"/a\", \"fp\": 1}}",
		"{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{}}}}}}}}}}",
	};
	struct halo_request r;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(parse(texts[i], &r), -EINVAL);
		halo_control__free_request(&r);
	}
}

static void test_garbage(void **state)
{
	const char good[] = "{\"cmd\": \"enroll\", \"args\": {\"pid\": 7, \"fp\": \"exact\"}}";
	char text[sizeof(good)];
	struct halo_request r;

	(void)state;
	for (size_t len = 0; len < sizeof(good) - 1; len++) {
		assert_int_equal(halo_control__parse(good, len, &r, NULL), -EINVAL);
		halo_control__free_request(&r);
	}
	for (size_t at = 0; at < sizeof(good) - 1; at++) {
		for (int value = 0; value < 256; value++) {
			memcpy(text, good, sizeof(good));
			text[at] = value;
			if (!halo_control__parse(text, sizeof(good) - 1, &r, NULL)) {
				assert_non_null(r.cmd);
				assert_non_null(r.fp);
				assert_true(r.target.pid >= 0);
			}
			halo_control__free_request(&r);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
