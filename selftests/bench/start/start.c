// SPDX-License-Identifier: BSD-2-Clause
/*
 * How much longer a prepared program takes from its exec to its end: wall time of the two commands
 * in pairs, in random order, in microseconds.
 *
 *	bench-start PAIRS PLAIN PREPARED
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "../measure.h"

#define MAX_PAIRS 10000
#define MICRO	  1e6

static int run_once(char *program, double *us)
{
	char *argv[] = {program, NULL};
	struct run run;
	int ret = run__measure(argv, NULL, &run);

	if (ret)
		return ret;
	*us = run.wall * MICRO;
	run__free(&run);
	return 0;
}

int main(int argc, char **argv)
{
	static double plain[MAX_PAIRS], prepared[MAX_PAIRS], more[MAX_PAIRS];
	size_t n = argc == 4 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned char coin;

	if (!n || n > MAX_PAIRS) {
		fprintf(stderr, "Usage: %s PAIRS PLAIN PREPARED\n", argv[0]);
		return 2;
	}
	for (size_t i = 0; i < n; i++) {
		if (getrandom(&coin, 1, 0) != 1)
			return 1;
		if (coin & 1 && run_once(argv[3], &prepared[i]))
			return 1;
		if (run_once(argv[2], &plain[i]))
			return 1;
		if (!(coin & 1) && run_once(argv[3], &prepared[i]))
			return 1;
		more[i] = prepared[i] - plain[i];
	}
	printf("%.1f %.1f %.1f\n", median(plain, n), median(prepared, n), median(more, n));
	return 0;
}
