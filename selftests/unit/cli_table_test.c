// SPDX-License-Identifier: BSD-2-Clause
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/table.h"

static void test_print(void **state)
{
	static const char *const headers[] = {"NAME", ">SIZE", "NOTE", NULL};
	struct table *t = table__new(headers);
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	table__cell(t, "%s", "main");
	table__cell(t, "%d", 7);
	table__cell(t, "first");
	table__cell(t, "longer");
	table__cell(t, "%d", 12345);
	/* Names are anyone's: no escape sequence reaches the terminal. */
	table__cell(t, "\033[31mred\n");
	table__print(t, f, 1);
	table__free(t);
	fclose(f);
	assert_string_equal(text, " NAME     SIZE  NOTE\n"
				  " main        7  first\n"
				  " longer  12345  ?[31mred?\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_print),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
