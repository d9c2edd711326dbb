// SPDX-License-Identifier: BSD-2-Clause
/* Folding of an RNA sequence: the most base pairs that nest, by dynamic programming. */
#include <string.h>

#include "kernel.h"

#define N 700

static signed char bases[N]; /* 0 to 3; x and 3 - x pair up */
static int best[N][N];	     /* best[i][j]: pairs within bases i to j */

static int max(int a, int b)
{
	return a >= b ? a : b;
}

static int pairs(int a, int b)
{
	return a + b == 3;
}

void fold(void)
{
	for (int i = N - 1; i >= 0; i--)
		for (int j = i + 1; j < N; j++) {
			best[i][j] = max(best[i][j], best[i][j - 1]);
			if (i + 1 < N) {
				best[i][j] = max(best[i][j], best[i + 1][j]);
				if (i < j - 1)
					best[i][j] =
						max(best[i][j],
						    best[i + 1][j - 1] + pairs(bases[i], bases[j]));
				else
					best[i][j] = max(best[i][j], best[i + 1][j - 1]);
			}
			for (int k = i + 1; k < j; k++)
				best[i][j] = max(best[i][j], best[i][k] + best[k + 1][j]);
		}
}

double kernel__round(uint64_t round)
{
	/* A tandem repeat: a motif of four bases over and over, with a mutation each round. */
	for (int i = 0; i < N; i++)
		bases[i] = (signed char)((i + round) % 4);
	bases[round % N] ^= 1;
	memset(best, 0, sizeof(best));
	fold();
	return best[0][N - 1];
}
