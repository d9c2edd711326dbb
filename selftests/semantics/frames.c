// SPDX-License-Identifier: BSD-2-Clause
/* backtrace() sees through variants to the end of the stack. */
#include <execinfo.h>

#include "sem.h"

static SEM_NOINLINE int deepest(int n)
{
	void *frames[64];
	int got = backtrace(frames, 64);

	SEM_HERE("deepest");
	return got + (sem_work(n) == 1);
}

static SEM_NOINLINE int deeper(int n)
{
	int i, found = sem_work(n) == 1;

	SEM_HERE("deeper");
	for (i = 0; i < n; i++)
		found += deepest(i);
	return found;
}

static long from_plain(void *arg)
{
	int got = deeper(*(int *)arg);

	__asm__ volatile("");
	return got;
}

/* Frames of functions that a variant takes into itself are not there, so only their end is looked at. */
static SEM_NOINLINE int reaches_main(int n)
{
	void *frames[64];
	int i, got, variant = 0, plain = 0;

	SEM_HERE("reaches_main");
	got = backtrace(frames, 64);
	for (i = 0; i < got; i++) {
		if (sem_is_variant(frames[i], 0))
			variant++;
		else
			plain += n != 0;
	}
	/* At least main() and what calls it, and what the C library calls that. */
	return plain >= 3 && variant + plain == got;
}

SEM_CASE(frames)
{
	int n = 5;

	sem_print("  %d %d\n", reaches_main(n), sem_call(from_plain, &n) >= 5 * 4);
}
