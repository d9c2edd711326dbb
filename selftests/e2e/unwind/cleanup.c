/* SPDX-License-Identifier: BSD-2-Clause */
/* C with cleanups, for exceptions of others (-fexceptions). */
#include "cases.h"

extern long guards_ended;

static void end(const int *weight)
{
	guards_ended += *weight;
}

long cleans_up_in_c(int n)
{
	__attribute__((cleanup(end))) int weight = 3 * n;
	long x = 15;
	int i;

	for (i = 0; i < 8; i++) {
		__attribute__((cleanup(end))) int inner = i;

		x = x * 31 + outside(n + i) + inner;
		x ^= x >> 7;
		x += n ^ i;
	}
	return x;
}
