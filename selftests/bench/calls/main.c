// SPDX-License-Identifier: BSD-2-Clause
/*
 * What one call costs: of a plain function, of a prepared one while nothing is redirected, redirected
 * to code where an arena lies, counted for an audit; each in the executable and in a shared library.
 * The slots are this program's own, which no daemon has taken: it stores to them as a daemon would.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/rseq.h>
#include <time.h>

#include <halo/prepared.h>

#include "../../../user/daemon/attach.h"
#include "../../../user/lib/util.h"
#include "../measure.h"
#include "calls.h"

#define CALLS	   1000000L
#define BLOCKS_MAX 1000
#define CODE_COPY  256 /* bytes: more than callee.c compiles to */
#define ARM	   0

/* Where code was put for a test, as far from the module as its arena would be. */
#define COPY_AT	   0
#define COUNTED_AT 512

struct way {
	const char *name;
	long (*loop)(long calls);
	long (*callee)(long x, long n); /* with a slot that this way sets; NULL: without */
	bool redirected;
	bool counted;
	bool missing;
	uint64_t target;
	double ns[BLOCKS_MAX];
};

/* Calls that wait for each other, as the work of a hot loop does. */
#define LOOP(callee)                                                                 \
	static __attribute__((noinline, aligned(64))) long loop_##callee(long calls) \
	{                                                                            \
		long x = 1;                                                          \
                                                                                     \
		for (long i = 0; i < calls; i++)                                     \
			x = callee(x, 0) + 1;                                        \
		return x;                                                            \
	}

LOOP(callee_plain)
LOOP(callee_pads)
LOOP(callee_prepared)
LOOP(lib_plain)
LOOP(lib_prepared)

static struct way ways[] = {
	{.name = "plain", .loop = loop_callee_plain},
	{.name = "pads", .loop = loop_callee_pads},
	{.name = "dormant", .loop = loop_callee_prepared, .callee = callee_prepared},
	{.name = "redirected",
	 .loop = loop_callee_prepared,
	 .callee = callee_prepared,
	 .redirected = true},
	{.name = "counted",
	 .loop = loop_callee_prepared,
	 .callee = callee_prepared,
	 .redirected = true,
	 .counted = true},
	{.name = "library_plain", .loop = loop_lib_plain},
	{.name = "library_dormant", .loop = loop_lib_prepared, .callee = lib_prepared},
	{.name = "library_redirected",
	 .loop = loop_lib_prepared,
	 .callee = lib_prepared,
	 .redirected = true},
	{.name = "library_counted",
	 .loop = loop_lib_prepared,
	 .callee = lib_prepared,
	 .redirected = true,
	 .counted = true},
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The slot through which the function's entry jumps; NULL: it has none. */
static uint64_t *slot_of(long (*callee)(long, long))
{
	const uint8_t *entry = (const uint8_t *)callee;
	int32_t distance;

	if (!memcmp(entry, "\xf3\x0f\x1e\xfa", 4))
		entry += 4;
	if (memcmp(entry, "\xff\x25", 2))
		return NULL;
	memcpy(&distance, entry + 2, sizeof(distance));
	return (uint64_t *)(entry + 6 + distance);
}

/* The stub has made the slots read-only, since there was no daemon. */
static int set_slot(uint64_t *slot, uint64_t target)
{
	void *page = (void *)((uintptr_t)slot & ~(uintptr_t)(HALO_PAGE - 1));

	if (mprotect(page, HALO_PAGE, PROT_READ | PROT_WRITE))
		return -errno;
	__atomic_store_n(slot, target, __ATOMIC_RELEASE);
	return 0;
}

/* Two pages near @callee: code, and behind it the words that code reads, as in a program's data pages. */
static uint8_t *make_place(long (*callee)(long, long))
{
	const uintptr_t step = 16UL << 20;
	uintptr_t at = ((uintptr_t)callee & ~(uintptr_t)(HALO_PAGE - 1)) - (1UL << 30);
	uint8_t *place = MAP_FAILED;

	for (int i = 0; i < 32 && place == MAP_FAILED; i++)
		place = mmap((void *)(at + (uintptr_t)i * step), 3UL * HALO_PAGE,
			     PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	return place == MAP_FAILED ? NULL : place;
}

static int prepare(struct way *way)
{
	static uint8_t counters[HALO_COUNTERS_SIZE] __attribute__((aligned(64)));
	uint64_t *slot, *words;
	uint8_t *place;
	int ret;

	if (!way->callee)
		return 0;
	slot = slot_of(way->callee);
	way->missing = !slot;
	if (!slot)
		return 0;
	way->target = *slot;
	if (!way->redirected)
		return 0;
	place = make_place(way->callee);
	if (!place)
		return -ENOMEM;
	words = (uint64_t *)(place + HALO_PAGE);
	words[HALO_DATA_ARM0 + ARM] = (uint64_t)counters;
	memcpy(place + COPY_AT, (const void *)callee_plain, CODE_COPY);
	way->target = (uint64_t)place + COPY_AT;
	if (way->counted) {
		ret = halo_count_entry__emit(place + COUNTED_AT, (int64_t)place + COUNTED_AT,
					     (int64_t)way->target, (uint64_t)words, ARM,
					     __rseq_size ? __rseq_offset : 0);
		if (ret < 0)
			return ret;
		way->target = (uint64_t)place + COUNTED_AT;
	}
	return mprotect(place, HALO_PAGE, PROT_READ | PROT_EXEC) ? -errno : 0;
}

static int measure(struct way *way, size_t block)
{
	double begin;
	int ret;

	if (way->callee) {
		ret = set_slot(slot_of(way->callee), way->target);
		if (ret)
			return ret;
	}
	way->loop(CALLS / 10);
	begin = now();
	way->loop(CALLS);
	way->ns[block] = (now() - begin) / CALLS;
	return 0;
}

/* All ways once, in random order. */
static int measure_round(size_t block)
{
	size_t order[ARRAY_SIZE(ways)], i, j, swap;
	uint32_t dice;
	int ret;

	for (i = 0; i < ARRAY_SIZE(ways); i++)
		order[i] = i;
	for (i = ARRAY_SIZE(ways) - 1; i > 0; i--) {
		if (getrandom(&dice, sizeof(dice), 0) != sizeof(dice))
			return -EIO;
		j = dice % (i + 1);
		swap = order[i];
		order[i] = order[j];
		order[j] = swap;
	}
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		if (ways[order[i]].missing)
			continue;
		ret = measure(&ways[order[i]], block);
		if (ret)
			return ret;
	}
	return 0;
}

/* The difference to the plain function of the same module, within each round. */
static void print(const struct way *way, const struct way *base, size_t blocks)
{
	double more[BLOCKS_MAX];

	if (way->missing) {
		printf("%-20s not prepared\n", way->name);
		return;
	}
	for (size_t i = 0; i < blocks; i++)
		more[i] = way->ns[i] - base->ns[i];
	printf("%-20s %7.2f ns  %+6.2f ns\n", way->name, median(way->ns, blocks),
	       median(more, blocks));
}

int main(int argc, char **argv)
{
	size_t blocks = argc > 1 ? strtoul(argv[1], NULL, 10) : 101;
	const struct way *base = NULL;
	int ret;

	if (!blocks || blocks > BLOCKS_MAX) {
		fprintf(stderr, "Usage: %s [ROUNDS], 1 to %d\n", argv[0], BLOCKS_MAX);
		return 2;
	}
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		ret = prepare(&ways[i]);
		if (ret)
			goto error;
	}
	for (size_t block = 0; block < blocks; block++) {
		ret = measure_round(block);
		if (ret)
			goto error;
	}
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		if (!ways[i].callee && strcmp(ways[i].name, "pads"))
			base = &ways[i];
		print(&ways[i], base, blocks);
	}
	return 0;
error:
	fprintf(stderr, "Error: %s\n", strerror(-ret));
	return 1;
}
