// SPDX-License-Identifier: BSD-2-Clause
/* What tables of files take: size and time. Usage: tables FILE…; a line each. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "unwind/table.h"

static double cpu_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static int report(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct halo_unwind_table t;
	struct halo_err err = {0};
	double begin, took, size;
	struct stat st;
	void *data;

	if (fd < 0 || fstat(fd, &st)) {
		perror(path);
		return 1;
	}
	data = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	close(fd);
	if (data == MAP_FAILED) {
		perror(path);
		return 1;
	}
	begin = cpu_s();
	if (halo_unwind__compile(data, st.st_size, &t, &err)) {
		fprintf(stderr, "%s: %s\n", path, err.what);
		munmap(data, st.st_size);
		return 1;
	}
	took = cpu_s() - begin;
	size = halo_unwind__size(&t, 0) * 4.0;
	printf("%s: text %.2f MB, %zu functions, %zu changes of rule: %zu rows, %u rules, %u "
	       "shapes, "
	       "%.0f bytes, %.2f %% of text; %.3f s CPU, %.2f s per 100 MB; %zu malformed, %zu "
	       "unknown\n",
	       path, t.text / 1e6, t.functions, t.changes, t.nr_rows, t.nr_rules, t.nr_shapes, size,
	       100 * size / t.text, took, took / (t.text / 1e8), t.malformed, t.unknown);
	halo_unwind__free(&t);
	munmap(data, st.st_size);
	return 0;
}

int main(int argc, char **argv)
{
	int ret = 0;

	for (int i = 1; i < argc; i++)
		ret |= report(argv[i]);
	return ret;
}
