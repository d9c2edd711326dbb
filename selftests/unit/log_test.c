// SPDX-License-Identifier: BSD-2-Clause
#include <stdarg.h>
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define LOG_TAG "test"
#include "lib/log.h"

static char text[8192];

/* What was logged since the last call. */
static const char *logged(int fd)
{
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	assert_true(n >= 0);
	text[n] = '\0';
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return text;
}

static void test_lines(void **state)
{
	int fd = memfd_create("log_test", MFD_CLOEXEC);
	char longer[3000];

	(void)state;
	halo_log__set_fd(fd);
	log_info("number %d", 7);
	assert_non_null(strstr(logged(fd), " test: number 7\n"));
	log_debug("hidden");
	assert_string_equal(logged(fd), "");
	halo_log__set_level(HALO_LOG_DEBUG);
	log_debug("shown");
	assert_non_null(strstr(logged(fd), "shown"));

	/* One call is one line, whatever a name holds and however long it is. */
	log_error("a\nb\033c");
	assert_non_null(strstr(logged(fd), "a b?c\n"));
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	log_warn("%s", longer);
	logged(fd);
	assert_int_equal(strlen(text), strcspn(text, "\n") + 1);
	assert_true(strlen(text) > 900);
	halo_log__set_fd(STDERR_FILENO);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
