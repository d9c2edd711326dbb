// SPDX-License-Identifier: BSD-2-Clause
#include <stdarg.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "cli/cli.h"

static const struct cmd cmds[] = {
	{.name = "start"}, {.name = "status"}, {.name = "stop"},
	{.name = "list"},  {.name = "listen"},
};

static size_t match(const char *name, const char **found)
{
	const struct cmd *cmd = NULL;
	size_t n = cmd__match(cmds, ARRAY_SIZE(cmds), name, &cmd);

	*found = cmd ? cmd->name : NULL;
	return n;
}

static void test_match(void **state)
{
	const char *found;

	(void)state;
	assert_int_equal(match("status", &found), 1);
	assert_string_equal(found, "status");
	assert_int_equal(match("stat", &found), 1);
	assert_string_equal(found, "status");
	assert_int_equal(match("sto", &found), 1);
	assert_string_equal(found, "stop");
	/* A whole name is never ambiguous. */
	assert_int_equal(match("list", &found), 1);
	assert_string_equal(found, "list");
	assert_int_equal(match("liste", &found), 1);
	assert_string_equal(found, "listen");
}

static void test_no_match(void **state)
{
	const char *found;

	(void)state;
	assert_int_equal(match("st", &found), 3);
	assert_int_equal(match("sta", &found), 2);
	assert_int_equal(match("starting", &found), 0);
	assert_int_equal(match("", &found), 0);
	assert_int_equal(match("x", &found), 0);
}

static void test_candidates(void **state)
{
	char buf[64];

	(void)state;
	cmd__candidates(cmds, ARRAY_SIZE(cmds), "sta", buf, sizeof(buf));
	assert_string_equal(buf, "start, status");
	cmd__candidates(cmds, ARRAY_SIZE(cmds), "", buf, sizeof(buf));
	assert_string_equal(buf, "start, status, stop, list, listen");
	cmd__candidates(cmds, ARRAY_SIZE(cmds), "x", buf, sizeof(buf));
	assert_string_equal(buf, "");
	cmd__candidates(cmds, ARRAY_SIZE(cmds), "", buf, 8);
	assert_string_equal(buf, "start, ");
}

static void test_table(void **state)
{
	const struct cmd *cmd;
	size_t i;

	(void)state;
	for (i = 0; i < cli_cmds_count; i++) {
		assert_int_equal(cmd__match(cli_cmds, cli_cmds_count, cli_cmds[i].name, &cmd), 1);
		assert_ptr_equal(cmd, &cli_cmds[i]);
		assert_non_null(cmd->func);
		assert_true(strlen(cmd->help) > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_match),
		cmocka_unit_test(test_no_match),
		cmocka_unit_test(test_candidates),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
