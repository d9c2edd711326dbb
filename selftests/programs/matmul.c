// SPDX-License-Identifier: BSD-2-Clause
/* The matrix product straight from its definition. */
#include "kernel.h"

#define N 256

static double a[N][N], b[N][N], c[N][N];

void matmul(void)
{
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			c[i][j] = 0;
			for (int k = 0; k < N; k++)
				c[i][j] += a[i][k] * b[k][j];
		}
}

void kernel__setup(void)
{
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			a[i][j] = (i * 7 + j * 3) % 31 / 31.0;
			b[i][j] = (i * 5 + j * 11) % 37 / 37.0;
		}
}

double kernel__round(uint64_t round)
{
	double sum = 0;

	a[round % N][0] += 0.125;
	matmul();
	for (int i = 0; i < N; i++)
		sum += c[i][(i * 17 + 3) % N];
	return sum;
}
