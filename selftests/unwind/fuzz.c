// SPDX-License-Identifier: BSD-2-Clause
/*
 * The table compiler on mutated files, and the unwinder on the tables that come out, with random
 * stacks and registers. Usage: fuzz ROUNDS FILE…. That it ends at all is the result.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host.h"

#define STACK_SIZE (1 << 16)
#define STACK_ADDR 0x7ffff0000000ULL

static uint8_t memory[STACK_SIZE];
static uint64_t state = 0x123456789abcdefULL;

static uint64_t rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static long read_memory(void *dst, uint32_t size, uint64_t addr)
{
	if (addr < STACK_ADDR || addr - STACK_ADDR > STACK_SIZE - size)
		return -1;
	memcpy(dst, memory + (addr - STACK_ADDR), size);
	return 0;
}

static uint64_t some_address(void)
{
	return rnd() & 3 ? STACK_ADDR + rnd() % STACK_SIZE : rnd();
}

static unsigned int walk(uint64_t size)
{
	struct halo_walk w = {
		.ip = USER_ADDR_MIN + rnd() % size,
		.sp = some_address(),
		.bp = some_address(),
		.bx = some_address(),
		.whole = 1,
	};
	unsigned int n = 0;

	for (unsigned int i = 0; i < 16; i++)
		w.reg[i] = some_address();
	while (n < HALO_MAX_FRAMES && !unwind__step(&w, 1, (w.ip - w.back) % size))
		n++;
	return n;
}

static void mutate(uint8_t *data, size_t size)
{
	unsigned int n = rnd() % 64;

	while (n--)
		switch (rnd() % 3) {
		case 0:
			data[rnd() % size] = rnd();
			break;
		case 1:
			data[rnd() % size] ^= 1U << rnd() % 8;
			break;
		case 2:
			/* The head, where all else is found by. */
			data[rnd() % (size < 4096 ? size : 4096)] = rnd();
		}
}

static void fuzz(const char *path, unsigned int rounds)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned int compiled = 0, frames = 0;
	struct halo_unwind_table t;
	struct halo_err err = {0};
	uint8_t *file, *copy;
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		fprintf(stderr, "can't open %s\n", path);
		exit(2);
	}
	file = malloc(st.st_size);
	copy = malloc(st.st_size);
	if (!file || !copy || read(fd, file, st.st_size) != st.st_size)
		exit(2);
	for (unsigned int i = 0; i < rounds; i++) {
		memcpy(copy, file, st.st_size);
		if (i)
			mutate(copy, st.st_size);
		if (halo_unwind__compile(copy, st.st_size, &t, &err))
			continue;
		compiled++;
		host__reset();
		if (host__add_table(1, &t))
			for (unsigned int k = 0; k < 200; k++)
				frames += walk(st.st_size);
		/* Tables that are not what the compiler makes. */
		for (unsigned int k = 0; k < 100; k++)
			host__buckets[0].word[rnd() % 4096] = rnd();
		for (unsigned int k = 0; k < 200; k++)
			frames += walk(st.st_size);
		halo_unwind__free(&t);
	}
	printf("%s: %u files, %u with tables, %u frames\n", path, rounds, compiled, frames);
	free(file);
	free(copy);
	close(fd);
}

int main(int argc, char **argv)
{
	host__read = read_memory;
	for (unsigned int i = 0; i < STACK_SIZE / 8; i++)
		((uint64_t *)memory)[i] = some_address();
	for (int i = 2; i < argc; i++)
		fuzz(argv[i], atoi(argv[1]));
	return 0;
}
