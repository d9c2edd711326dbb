/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * How long one thread of a running program is stopped to be attached, as the injecting process takes
 * the time, over many programs that are started one after the other.
 *
 *   bench-attach EXECUTABLE MODE TIMES HOGS FIGURES
 *
 * MODE is the executable's argument; it says "ready". HOGS processes use up the CPUs meanwhile.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>

#include <json-c/json.h>

#include "daemon/attach.h"
#include "lib/util.h"

#define HOGS_MAX 64

struct bench {
	const char *exe, *mode;
	struct halo_prepared *prepared;
	struct halo_store *store;
	struct halo_arena *arena;
	unsigned int *us;
	size_t n, refused;
};

static void __attribute__((noreturn)) fail(const char *what, const struct halo_err *err)
{
	fprintf(stderr, "bench-attach: %s: %s\n", what, err->what);
	exit(1);
}

static void open_program(struct bench *b)
{
	__cleanup_fd int fd = open(b->exe, O_RDONLY | O_CLOEXEC);
	char dir[] = "/tmp/halo-attach-XXXXXX";
	struct halo_err err = {.what = "cannot be made"};
	uint8_t hash[32];

	if (halo_prepared__open(fd, &b->prepared, &err) ||
	    halo_prepared__hash(b->prepared, hash, &err))
		fail(b->exe, &err);
	if (!mkdtemp(dir) || halo_store__open(dir, &b->store, &err) ||
	    halo_arena__open(b->store, hash, &b->arena, &err))
		fail("store", &err);
	umount2(dir, MNT_DETACH);
	rmdir(dir);
}

static pid_t start_program(const struct bench *b)
{
	int out[2];
	pid_t pid;
	char c;

	if (pipe(out))
		exit(1);
	pid = fork();
	if (pid == 0) {
		dup2(out[1], STDOUT_FILENO);
		close(out[0]);
		close(out[1]);
		setenv("HALO_SOCKET", "/nonexistent", 1);
		execl(b->exe, b->exe, b->mode, NULL);
		_exit(127);
	}
	close(out[1]);
	if (read(out[0], &c, 1) != 1)
		exit(1);
	close(out[0]);
	return pid;
}

static void attach_one(struct bench *b, uint32_t id)
{
	struct timespec settle = {0, 2000000};
	struct halo_family *family = NULL;
	struct halo_layout layout;
	struct halo_err err = {0};
	pid_t pid = start_program(b);

	nanosleep(&settle, NULL);
	if (halo_layout__read(pid, b->prepared, &layout, &err) ||
	    halo_family__create(b->store, id, b->prepared, &layout, &family, &err))
		fail("family", &err);
	if (halo_inject__attach(pid, b->prepared, &layout, family, b->arena, &b->us[b->n], &err)) {
		fprintf(stderr, "refused: %s\n", err.what);
		b->refused++;
	} else {
		b->n++;
	}
	halo_family__free(family);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void start_hogs(pid_t *hogs, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		hogs[i] = fork();
		if (hogs[i] == 0)
			for (;;)
				__asm__ volatile("");
	}
}

static int by_value(const void *a, const void *b)
{
	unsigned int x = *(const unsigned int *)a, y = *(const unsigned int *)b;

	return (x > y) - (x < y);
}

static void record(const char *file, const struct bench *b, int hogs, const char *metric,
		   unsigned int us)
{
	json_object *obj = json_object_new_object();
	FILE *f = fopen(file, "a");
	char program[64];

	snprintf(program, sizeof(program), "%s, %d hogs", b->mode, hogs);
	json_object_object_add(obj, "program", json_object_new_string(program));
	json_object_object_add(obj, "metric", json_object_new_string(metric));
	json_object_object_add(obj, "unit", json_object_new_string("us"));
	json_object_object_add(obj, "n", json_object_new_int64((int64_t)b->n));
	json_object_object_add(obj, "value", json_object_new_int64(us));
	if (f) {
		fprintf(f, "%s\n", json_object_to_json_string_ext(obj, JSON_C_TO_STRING_PLAIN));
		fclose(f);
	}
	json_object_put(obj);
}

static void report(struct bench *b, int hogs, const char *figures)
{
	unsigned int p50, p99, max;

	if (!b->n)
		exit(1);
	qsort(b->us, b->n, sizeof(*b->us), by_value);
	p50 = b->us[b->n / 2];
	p99 = b->us[b->n - 1 - b->n / 100];
	max = b->us[b->n - 1];
	printf("%-10s %5d %6zu %8zu %10u %8u %8u\n", b->mode, hogs, b->n, b->refused, p50, p99,
	       max);
	record(figures, b, hogs, "stop_median", p50);
	record(figures, b, hogs, "stop_p99", p99);
	record(figures, b, hogs, "stop_max", max);
}

int main(int argc, char **argv)
{
	pid_t hogs[HOGS_MAX];
	struct bench b = {0};
	uint32_t i, times;
	int n_hogs, h;

	if (argc != 6)
		return 2;
	b.exe = argv[1];
	b.mode = argv[2];
	times = (uint32_t)atoi(argv[3]);
	n_hogs = atoi(argv[4]);
	if (times == 0 || n_hogs < 0 || n_hogs > HOGS_MAX)
		return 2;
	b.us = calloc(times, sizeof(*b.us));
	if (!b.us)
		return 1;
	open_program(&b);
	start_hogs(hogs, n_hogs);
	for (i = 1; i <= times; i++)
		attach_one(&b, i);
	for (h = 0; h < n_hogs; h++) {
		kill(hogs[h], SIGKILL);
		waitpid(hogs[h], NULL, 0);
	}
	halo_arena__close(b.arena);
	halo_store__close(b.store, false);
	report(&b, n_hogs, argv[5]);
	return 0;
}
