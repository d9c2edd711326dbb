// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"

extern char **environ;

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int start(char *const argv[], const char *input, int output, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int ret = posix_spawn_file_actions_init(&actions);

	if (ret)
		return -ret;
	ret = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input ?: "/dev/null",
					       O_RDONLY, 0);
	if (!ret)
		ret = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (!ret)
		ret = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (ret)
		fprintf(stderr, "Error: cannot run %s: %s\n", argv[0], strerror(ret));
	return -ret;
}

static int finish(pid_t pid, const char *name, struct run *run)
{
	struct rusage usage;
	int status;

	if (wait4(pid, &status, 0, &usage) < 0)
		return -errno;
	if (!WIFEXITED(status)) {
		fprintf(stderr, "Error: %s was killed by signal %d\n", name, WTERMSIG(status));
		return -ECHILD;
	}
	run->status = WEXITSTATUS(status);
	run->cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
	return 0;
}

int run__measure(char *const argv[], const char *input, struct run *run)
{
	double begin;
	pid_t pid;
	int ret;

	*run = (struct run){.output = memfd_create("output", MFD_CLOEXEC)};
	if (run->output < 0)
		return -errno;
	begin = now();
	ret = start(argv, input, run->output, &pid);
	if (!ret)
		ret = finish(pid, argv[0], run);
	run->wall = now() - begin;
	if (ret)
		run__free(run);
	return ret;
}

void run__free(struct run *run)
{
	if (run->output >= 0)
		close(run->output);
	run->output = -1;
}

bool run__same_output(const struct run *a, const struct run *b)
{
	struct stat st_a, st_b;
	void *map_a, *map_b;
	size_t size;
	bool same;

	if (fstat(a->output, &st_a) || fstat(b->output, &st_b) || st_a.st_size != st_b.st_size)
		return false;
	size = (size_t)st_a.st_size;
	if (!size)
		return true;
	map_a = mmap(NULL, size, PROT_READ, MAP_SHARED, a->output, 0);
	map_b = mmap(NULL, size, PROT_READ, MAP_SHARED, b->output, 0);
	same = map_a != MAP_FAILED && map_b != MAP_FAILED && memcmp(map_a, map_b, size) == 0;
	if (map_a != MAP_FAILED)
		munmap(map_a, size);
	if (map_b != MAP_FAILED)
		munmap(map_b, size);
	return same;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double median(const double *values, size_t n)
{
	double *sorted = malloc(n * sizeof(*sorted));
	double result;

	if (!sorted || !n) {
		free(sorted);
		return 0;
	}
	memcpy(sorted, values, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare);
	result = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
	free(sorted);
	return result;
}
