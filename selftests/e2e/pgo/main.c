// SPDX-License-Identifier: BSD-2-Clause
/*
 * main: calls work() from two threads, and prints the results.
 * main alone ROUNDS: from one, so many times. main recorded ROUNDS: the same behind an int3, from which on
 * the branch recorder follows it.
 * main SLOT ENTRY PLACE IMAGE [AREA SIZE [ROUNDS]]: the same with the slot switched to the image, all link-time
 * addresses. AREA is memory that the image writes to: its words that are not 0 are printed on
 * standard error, "number value". With ROUNDS from one thread, so many times.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "work.h"

#define PAGE	4096UL
#define ROUNDS	400
#define THREADS 2

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static int first_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
	(void)size;
	*(uint64_t *)bias = info->dlpi_addr;
	return 1;
}

static void map_at(uint64_t at, uint64_t size, int prot, int fd)
{
	int flags = MAP_PRIVATE | MAP_FIXED_NOREPLACE | (fd < 0 ? MAP_ANONYMOUS : 0);

	if (mmap((void *)at, size, prot, flags, fd, 0) != (void *)at)
		die("mmap");
}

static void map_image(const char *path, uint64_t at)
{
	int fd = open(path, O_RDONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		die(path);
	map_at(at, (uint64_t)st.st_size, PROT_READ | PROT_EXEC, fd);
	close(fd);
}

static void store_slot(uint64_t slot, uint64_t target)
{
	if (mprotect((void *)(slot & ~(PAGE - 1)), PAGE, PROT_READ | PROT_WRITE))
		die("mprotect");
	__atomic_store_n((uint64_t *)slot, target, __ATOMIC_RELEASE);
}

static void *run(void *sum)
{
	for (uint64_t i = 0; i < ROUNDS; i++)
		*(uint64_t *)sum ^= work(i);
	return NULL;
}

static void print_words(const uint64_t *area, uint64_t size)
{
	for (uint64_t i = 0; i < size / 8; i++)
		if (area[i])
			fprintf(stderr, "%" PRIu64 " %" PRIu64 "\n", i, area[i]);
}

static int run_alone(bool recorded, uint64_t rounds)
{
	uint64_t sum = 0;

	if (recorded)
		__asm__ volatile("int3");
	for (uint64_t i = 0; i < rounds; i++)
		sum ^= work(i);
	printf("%016" PRIx64 "\n", sum);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t bias = 0, area = 0, size = 0, sum[THREADS] = {0};
	pthread_t threads[THREADS];

	if (argc == 3)
		return run_alone(!strcmp(argv[1], "recorded"), strtoull(argv[2], NULL, 10));
	dl_iterate_phdr(first_bias, &bias);
	if (argc > 6) {
		area = bias + strtoull(argv[5], NULL, 10);
		size = strtoull(argv[6], NULL, 10);
		map_at(area, size, PROT_READ | PROT_WRITE, -1);
	}
	if (argc > 4) {
		map_image(argv[4], bias + strtoull(argv[3], NULL, 10));
		store_slot(bias + strtoull(argv[1], NULL, 10), bias + strtoull(argv[2], NULL, 10));
	}
	for (int i = 0; argc <= 7 && i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, &sum[i]))
			die("pthread_create");
	for (int i = 0; argc <= 7 && i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (argc > 7)
		run_alone(false, strtoull(argv[7], NULL, 10));
	for (int i = 0; argc <= 7 && i < THREADS; i++)
		printf("%016" PRIx64 "\n", sum[i]);
	fflush(stdout);
	if (area) {
		fprintf(stderr, "bias %" PRIu64 "\n", bias);
		print_words((const uint64_t *)area, size);
	}
	return 0;
}
