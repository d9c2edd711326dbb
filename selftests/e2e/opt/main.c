// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls every case a few times, prints the results, switches the program's slots to images, and
 * does the same again: main [LIST], where a line of LIST is "SLOT ENTRY PLACE IMAGE" with link-time
 * addresses. Without LIST nothing is switched, and the output must be the same.
 */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cases.h"

#define PAGE 4096UL

static void print_case(const char *name, uint64_t (*fn)(int))
{
	printf("%s %016" PRIx64 " %016" PRIx64 "\n", name, fn(40), fn(1003));
}

static void print_all(void)
{
#define PRINT(name) print_case(#name, name);
	CASES(PRINT)
	REFUSED(PRINT)
#undef PRINT
}

static int first_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
	(void)size;
	*(uint64_t *)bias = info->dlpi_addr;
	return 1;
}

static void die(const char *what)
{
	perror(what);
	exit(2);
}

/* The image's only segment is the start of its file. */
static void map_image(const char *path, uint64_t at)
{
	int fd = open(path, O_RDONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		die(path);
	if (mmap((void *)at, st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE,
		 fd, 0) != (void *)at)
		die("mmap");
	close(fd);
}

static void store_slot(uint64_t slot, uint64_t target)
{
	if (mprotect((void *)(slot & ~(PAGE - 1)), PAGE, PROT_READ | PROT_WRITE))
		die("mprotect");
	__atomic_store_n((uint64_t *)slot, target, __ATOMIC_RELEASE);
}

static void switch_all(const char *list)
{
	uint64_t bias = 0, slot;
	int64_t entry, place;
	char path[4096];
	FILE *f = fopen(list, "r");

	if (!f)
		die(list);
	dl_iterate_phdr(first_bias, &bias);
	while (fscanf(f, "%" SCNu64 " %" SCNi64 " %" SCNi64 " %4095s", &slot, &entry, &place,
		      path) == 4) {
		map_image(path, bias + place);
		store_slot(bias + slot, bias + entry);
	}
	fclose(f);
}

int main(int argc, char **argv)
{
	print_all();
	fflush(stdout);
	if (argc > 1)
		switch_all(argv[1]);
	print_all();
	return 0;
}
