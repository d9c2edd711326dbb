// SPDX-License-Identifier: BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/answer.h"
#include "lib/prepared_internal.h"
#include "lib/util.h"

#define PLACE 1073741824
#define ROOM  65536
#define HASH  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct halo_segment segment = {.vaddr = 0x1000, .filesz = 0x1000, .memsz = 0x1000};
static struct halo_func funcs[] = {
	{.name = "noise", .addr = 0x1000, .slot = 0x9000, .unit = 0},
	{.name = "small", .addr = 0x1100, .unit = 1},
};
static struct halo_unit units[2];
static struct halo_prepared program = {
	.segments = &segment,
	.n_segments = 1,
	.funcs = funcs,
	.n_funcs = 2,
	.units = units,
	.n_units = 2,
};

static const char good[] =
	"{\"status\": \"ok\","
	" \"root\": {\"function\": \"noise\", \"unit\": 0, \"vaddr\": 4096, \"slot\": 36864},"
	" \"functions\": ["
	"{\"function\": \"noise\", \"unit\": 0, \"vaddr\": 1073741888, \"size\": 640}],"
	" \"entry\": 1073741888, \"image\": \"image.elf\", \"code_size\": 4096,"
	" \"hash\": \"" HASH "\","
	" \"considered\": [{\"function\": \"noise\", \"unit\": 0, \"share\": 0.93,"
	" \"verdict\": \"root\", \"reason\": \"hot\"}]}";

static int parse(const char *text, struct halo_answer *a, struct halo_err *err)
{
	return halo_answer__parse(text, strlen(text), &program, PLACE, ROOM, a, err);
}

/* The good answer with the first @from replaced by @to. */
static int parse_with(const char *from, const char *to)
{
	const char *at = strstr(good, from);
	struct halo_answer a;
	struct halo_err err = {0};
	char text[2048];
	int ret;

	assert_non_null(at);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
	ret = parse(text, &a, &err);
	halo_answer__free(&a);
	assert_true(!ret == !err.what[0]);
	return ret;
}

static void test_good(void **state)
{
	struct halo_answer a;

	(void)state;
	assert_int_equal(parse(good, &a, NULL), 0);
	assert_int_equal(a.status, HALO_ANSWER_OK);
	assert_ptr_equal(a.root, &funcs[0]);
	assert_int_equal(a.entry, PLACE + 64);
	assert_int_equal(a.n_funcs, 1);
	assert_ptr_equal(a.funcs[0].func, &funcs[0]);
	assert_int_equal(a.funcs[0].size, 640);
	assert_int_equal(a.code_size, 4096);
	assert_string_equal(a.hash, HASH);
	assert_int_equal(json_object_array_length(a.considered), 1);
	halo_answer__free(&a);
}

static void test_root(void **state)
{
	(void)state;
	assert_int_equal(parse_with("\"noise\"", "\"none\""), -EBADMSG);
	assert_int_equal(parse_with("\"noise\", \"unit\": 0", "\"small\", \"unit\": 1"), -EBADMSG);
	assert_int_equal(parse_with("\"unit\": 0", "\"unit\": 1"), -EBADMSG);
	assert_int_equal(parse_with("\"unit\": 0", "\"unit\": 4294967296"), -EBADMSG);
	assert_int_equal(parse_with("\"unit\": 0", "\"unit\": -2"), -EBADMSG);
	assert_int_equal(parse_with("\"unit\": 0", "\"unit\": \"0\""), -EBADMSG);
	assert_int_equal(parse_with("4096", "4097"), -EBADMSG);
	assert_int_equal(parse_with("36864", "36872"), -EBADMSG);
	assert_int_equal(parse_with("\"root\"", "\"Root\""), -EBADMSG);
}

static void test_addresses(void **state)
{
	(void)state;
	/* The last byte of the room is inside. */
	assert_int_equal(parse_with("\"entry\": 1073741888", "\"entry\": 1073807359"), 0);
	assert_int_equal(parse_with("\"entry\": 1073741888", "\"entry\": 1073807360"), -EBADMSG);
	assert_int_equal(parse_with("\"entry\": 1073741888", "\"entry\": 1073741823"), -EBADMSG);
	assert_int_equal(parse_with("\"entry\": 1073741888", "\"entry\": 1.5"), -EBADMSG);
	assert_int_equal(parse_with("\"entry\": 1073741888", "\"entry\": null"), -EBADMSG);
	assert_int_equal(parse_with("640", "65473"), -EBADMSG);
	assert_int_equal(parse_with("640", "-1"), -EBADMSG);
	assert_int_equal(parse_with("640", "9223372036854775807"), -EBADMSG);
	assert_int_equal(parse_with("\"vaddr\": 1073741888", "\"vaddr\": -1"), -EBADMSG);
	assert_int_equal(parse_with("1073741888, \"image", "-9223372036854775808, \"image"),
			 -EBADMSG);
}

static void test_members(void **state)
{
	(void)state;
	assert_int_equal(parse_with("image.elf", "../image.elf"), -EBADMSG);
	assert_int_equal(parse_with("image.elf", "/etc/passwd"), -EBADMSG);
	assert_int_equal(parse_with(HASH, "0123"), -EBADMSG);
	assert_int_equal(parse_with("\"code_size\": 4096", "\"code_size\": 65537"), -EBADMSG);
	assert_int_equal(parse_with("\"code_size\": 4096", "\"code_size\": 0"), -EBADMSG);
	assert_int_equal(parse_with("\"status\": \"ok\"", "\"status\": \"fine\""), -EBADMSG);
	assert_int_equal(parse_with("\"status\": \"ok\"", "\"status\": 1"), -EBADMSG);
	assert_int_equal(parse_with("\"functions\": [", "\"functions\": [7, "), -EBADMSG);
	/* What only explain prints may be missing or odd. */
	assert_int_equal(parse_with("\"considered\": [", "\"considered\": [7, null, "), 0);
	assert_int_equal(parse_with("\"considered\"", "\"other\""), 0);
}

static int parse_counted(const char *counted)
{
	char text[256];

	snprintf(text, sizeof(text), "\"counted\": %s, \"considered\"", counted);
	return parse_with("\"considered\"", text);
}

#define COUNTED(counters, copies, stride, sites)                                   \
	"{\"counters\": " counters ", \"copies\": " copies ", \"stride\": " stride \
	", \"sites\": " sites ", \"map\": {}}"

/* The daemon reads as much of the counters as an answer says. */
static void test_counted(void **state)
{
	(void)state;
	assert_int_equal(parse_counted(COUNTED("8", "2", "64", "3")), 0);
	assert_int_equal(parse_counted(COUNTED("2", "1", "901120", "0")), 0);
	assert_int_equal(parse_counted(COUNTED("2", "1", "901120", "1")), -EBADMSG);
	assert_int_equal(parse_counted(COUNTED("9", "2", "64", "3")), -EBADMSG);
	assert_int_equal(parse_counted(COUNTED("1", "2", "64", "3")), -EBADMSG);
	assert_int_equal(parse_counted(COUNTED("8", "0", "64", "3")), -EBADMSG);
	assert_int_equal(parse_counted(COUNTED("8", "-1", "64", "3")), -EBADMSG);
	assert_int_equal(parse_counted(COUNTED("8", "2", "68", "3")), -EBADMSG);
	assert_int_equal(parse_counted(COUNTED("8", "2", "64", "-3")), -EBADMSG);
	assert_int_equal(parse_counted(COUNTED("8", "4294967297", "64", "0")), -EBADMSG);
	assert_int_equal(parse_counted(COUNTED("8", "2", "9223372036854775800", "0")), -EBADMSG);
	assert_int_equal(parse_counted(COUNTED("8", "2", "64", "\"3\"")), -EBADMSG);
	assert_int_equal(parse_counted("7"), -EBADMSG);
	assert_int_equal(parse_counted("{}"), -EBADMSG);
}

static void test_none_and_error(void **state)
{
	struct halo_answer a;

	(void)state;
	assert_int_equal(parse("{\"status\": \"none\", \"reason\": \"a\\u001b[2Jb\"}", &a, NULL),
			 0);
	assert_int_equal(a.status, HALO_ANSWER_NONE);
	/* No byte that a terminal would act on. */
	assert_string_equal(a.reason, "a [2Jb");
	assert_null(a.root);
	halo_answer__free(&a);
	assert_int_equal(parse("{\"status\": \"none\", \"reason\": \"r\", \"root\":"
			       " {\"function\": \"noise\", \"unit\": 0}}",
			       &a, NULL),
			 0);
	assert_string_equal(a.root->name, "noise");
	halo_answer__free(&a);
	assert_int_equal(parse("{\"status\": \"error\", \"error\": {\"code\": \"ENOENT\","
			       " \"errno\": 2, \"what\": \"w\", \"cause\": \"c\"}}",
			       &a, NULL),
			 0);
	assert_int_equal(a.status, HALO_ANSWER_ERROR);
	assert_string_equal(a.error.what, "w");
	assert_string_equal(a.error.cause, "c");
	halo_answer__free(&a);
	assert_int_equal(parse("{\"status\": \"error\"}", &a, NULL), -EBADMSG);
	halo_answer__free(&a);
}

/* Cut short or changed anywhere, an answer is refused or still in bounds. */
static void test_garbage(void **state)
{
	const char *texts[] = {"", "{", "[]", "null", "1", "{}", "[[[[[[[[[[[[[[[[[[[["};
	struct halo_answer a;
	char text[sizeof(good)];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(parse(texts[i], &a, NULL), -EBADMSG);
		halo_answer__free(&a);
	}
	for (size_t len = 0; len < sizeof(good) - 1; len++) {
		assert_int_equal(halo_answer__parse(good, len, &program, PLACE, ROOM, &a, NULL),
				 -EBADMSG);
		halo_answer__free(&a);
	}
	for (size_t at = 0; at < sizeof(good) - 1; at++) {
		for (int bit = 0; bit < 8; bit++) {
			memcpy(text, good, sizeof(good));
			text[at] ^= 1 << bit;
			if (!halo_answer__parse(text, sizeof(good) - 1, &program, PLACE, ROOM, &a,
						NULL) &&
			    a.status == HALO_ANSWER_OK) {
				assert_ptr_equal(a.root, &funcs[0]);
				assert_in_range(a.entry, PLACE, PLACE + ROOM - 1);
			}
			halo_answer__free(&a);
		}
	}
}

static int index_program(void **state)
{
	(void)state;
	return halo_prepared__index(&program, NULL);
}

static int free_index(void **state)
{
	(void)state;
	free(program.funcs_by_name);
	free(program.vars_by_name);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),	  cmocka_unit_test(test_root),
		cmocka_unit_test(test_addresses), cmocka_unit_test(test_members),
		cmocka_unit_test(test_counted),	  cmocka_unit_test(test_none_and_error),
		cmocka_unit_test(test_garbage),
	};

	return cmocka_run_group_tests(tests, index_program, free_index);
}
