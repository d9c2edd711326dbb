// SPDX-License-Identifier: BSD-2-Clause
/* The spectral norm of the infinite matrix 1, 1/2, 1/3, 1/4, …, by the power method. */
#include <math.h>

#include "kernel.h"

#define N 240

static double matrix(int i, int j)
{
	return 1.0 / ((i + j) * (i + j + 1) / 2 + i + 1);
}

void multiply(const double *v, double *out)
{
	for (int i = 0; i < N; i++) {
		double sum = 0;

		for (int j = 0; j < N; j++)
			sum += matrix(i, j) * v[j];
		out[i] = sum;
	}
}

void multiply_transposed(const double *v, double *out)
{
	for (int i = 0; i < N; i++) {
		double sum = 0;

		for (int j = 0; j < N; j++)
			sum += matrix(j, i) * v[j];
		out[i] = sum;
	}
}

double kernel__round(uint64_t round)
{
	static double u[N], v[N], middle[N];
	double uv = 0, vv = 0;

	for (int i = 0; i < N; i++)
		u[i] = 1 + (double)(round % 16) * i / N;
	for (int step = 0; step < 4; step++) {
		multiply(u, middle);
		multiply_transposed(middle, v);
		multiply(v, middle);
		multiply_transposed(middle, u);
	}
	for (int i = 0; i < N; i++) {
		uv += u[i] * v[i];
		vv += v[i] * v[i];
	}
	return sqrt(uv / vv);
}
