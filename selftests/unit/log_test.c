// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

#define WRITERS 4
#define THREADS 3
#define LINES	200

struct writer {
	int process, thread;
};

/* Long enough to be written in parts, were they; the end tells a line that was cut. */
static void *write_lines(void *arg)
{
	const struct writer *w = arg;
	char filler[500];

	memset(filler, 'a' + w->thread, sizeof(filler) - 1);
	filler[sizeof(filler) - 1] = '\0';
	for (int i = 0; i < LINES; i++)
		log_info("%d %d %d %s end", w->process, w->thread, i, filler);
	return NULL;
}

/* Killed as soon as the last line is logged: nothing that was logged may wait in a buffer. */
static void write_and_die(int process)
{
	struct writer writers[THREADS];
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++) {
		writers[i] = (struct writer){process, i};
		pthread_create(&threads[i], NULL, write_lines, &writers[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	kill(getpid(), SIGKILL);
}

static void test_many_writers(void **state)
{
	static bool seen[WRITERS][THREADS][LINES];
	char path[] = "/tmp/halo-log-XXXXXX", line[1024], filler[512], end[8];
	int fd = mkostemp(path, O_APPEND | O_CLOEXEC), total = 0, process, thread, nr;
	FILE *f;

	(void)state;
	assert_true(fd >= 0);
	halo_log__set_fd(fd);
	for (int i = 0; i < WRITERS; i++)
		if (!fork())
			write_and_die(i);
	while (wait(NULL) > 0)
		;
	halo_log__set_fd(STDERR_FILENO);
	f = fopen(path, "re");
	while (fgets(line, sizeof(line), f)) {
		assert_int_equal(sscanf(line, "%*s info test: %d %d %d %511s %7s", &process,
					&thread, &nr, filler, end),
				 5);
		assert_string_equal(end, "end");
		assert_int_equal(strspn(filler, (char[]){'a' + thread, '\0'}), 499);
		assert_false(seen[process][thread][nr]);
		seen[process][thread][nr] = true;
		total++;
	}
	assert_int_equal(total, WRITERS * THREADS * LINES);
	fclose(f);
	close(fd);
	unlink(path);
}

static void test_journal(void **state)
{
	int fd = memfd_create("log_test", MFD_CLOEXEC), kept = dup(STDERR_FILENO);
	char stream[64];
	struct stat st;

	(void)state;
	/* What another process was started with is not ours. */
	assert_int_equal(setenv("JOURNAL_STREAM", "1:2", 1), 0);
	halo_log__detect_journal();
	halo_log__set_fd(fd);
	log_info("one");
	assert_non_null(strstr(logged(fd), "Z info test: one\n"));

	assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	assert_int_equal(fstat(fd, &st), 0);
	snprintf(stream, sizeof(stream), "%lu:%lu", st.st_dev, st.st_ino);
	assert_int_equal(setenv("JOURNAL_STREAM", stream, 1), 0);
	halo_log__detect_journal();
	log_info("two");
	assert_string_equal(logged(fd), "<6>test: two\n");
	log_error("three\n<0>four");
	assert_string_equal(logged(fd), "<3>test: three <0>four\n");

	assert_int_equal(dup2(kept, STDERR_FILENO), STDERR_FILENO);
	assert_int_equal(unsetenv("JOURNAL_STREAM"), 0);
	halo_log__detect_journal();
	close(kept);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_many_writers),
		cmocka_unit_test(test_journal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
