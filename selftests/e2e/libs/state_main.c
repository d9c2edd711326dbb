// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls the library without end, in its first thread and others, and knows what must come out. At
 * the end of its input it says whether it did.
 */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "state.h"

#define WORDS	4096
#define THREADS 2
#define ROUNDS	200

static unsigned int words[WORDS];
static unsigned long wrong, sums[2];
static bool ends;

/* Not the library's. */
int hook(int x)
{
	return 2 * x;
}

static void check(unsigned long expected, unsigned long actual)
{
	if (expected != actual)
		__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
}

static void *in_thread(void *arg)
{
	unsigned long seeded = 42;

	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		seeded += sums[1];
		check(seeded, thread_step(words, WORDS));
	}
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, in_thread, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void run(void)
{
	static unsigned int mine = 3, shared;
	static int calls, id = 100;

	for (int i = 0; i < 4 * ROUNDS; i++) {
		exported = i;
		calls++;
		mine += (unsigned int)sums[0];
		shared ^= mine;
		check(sums[0] + (unsigned int)i + (unsigned int)hook(calls) + mine + shared +
			      (unsigned int)++id,
		      step(words, WORDS));
	}
}

int main(void)
{
	struct pollfd input = {.events = POLLIN};

	for (size_t i = 0; i < WORDS; i++) {
		words[i] = (unsigned int)i * 2654435761u;
		sums[0] += words[i] * 3u ^ words[i] >> 5;
		sums[1] += words[i] * 5u ^ words[i] >> 7;
	}
	while (!ends) {
		run();
		run_threads();
		ends = poll(&input, 1, 0) == 1;
	}
	printf("%lu wrong\n", wrong);
	return wrong != 0;
}
