// SPDX-License-Identifier: BSD-2-Clause
/* main THREADS ROUNDS [CASE]: a line for every 64 rounds of each case, in each thread its own. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "torture.h"

static const struct {
	const char *name;
	uint64_t (*fn)(int round);
} cases[] = {
#define CASE(name) {#name, name},
	CASES(CASE)
#undef CASE
};

#define N_CASES (sizeof(cases) / sizeof(cases[0]))

/* Those that keep no state that threads would share. */
static const char *const stateless[] = {
	"jump_tables",	 "variadic",   "by_value",  "pointer_table", "tail_calls",   "computed",
	"assembly",	 "arrays",     "ackermann", "wide_integers", "long_doubles", "complexes",
	"library_loops", "bit_fields", "objects",   "templates",     "halves",
};

static int rounds;

static void *run_thread(void *arg)
{
	uint64_t h = (uintptr_t)arg;
	size_t i, j;
	int r;

	for (r = 0; r < rounds; r++)
		for (i = 0; i < sizeof(stateless) / sizeof(stateless[0]); i++)
			for (j = 0; j < N_CASES; j++)
				if (!strcmp(cases[j].name, stateless[i]))
					h = mix(h, cases[j].fn(r));
	return (void *)h;
}

static void run_threads(int n)
{
	pthread_t threads[16];
	void *result;
	int i;

	for (i = 0; i < n && i < 16; i++)
		if (pthread_create(&threads[i], NULL, run_thread, (void *)(uintptr_t)(i + 1)))
			abort();
	for (i = 0; i < n && i < 16; i++) {
		pthread_join(threads[i], &result);
		printf("thread %d %016" PRIxPTR "\n", i, (uintptr_t)result);
	}
}

int main(int argc, char **argv)
{
	uint64_t h[N_CASES] = {0};
	size_t i;
	int r;

	rounds = argc > 2 ? atoi(argv[2]) : 0;
	for (r = 1; r <= rounds; r++) {
		for (i = 0; i < N_CASES; i++) {
			if (argc > 3 && strcmp(argv[3], cases[i].name))
				continue;
			h[i] = mix(h[i], cases[i].fn(r));
			if (r % 64 == 0)
				printf("%s %d %016" PRIx64 "\n", cases[i].name, r, h[i]);
		}
	}
	if (argc <= 3)
		run_threads(atoi(argv[1]));
	return 0;
}
