// SPDX-License-Identifier: BSD-2-Clause
/* The spectral norm of the infinite matrix 1, 1/2, 1/3, 1/4, …, by the power method. */
#include <math.h>

#include "program.h"

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

int main(int argc, char **argv)
{
	static double u[N], v[N], middle[N];
	struct program run;

	program__begin(&run, argc, argv);
	while (program__next(&run)) {
		double uv = 0, vv = 0;

		for (int i = 0; i < N; i++)
			u[i] = 1 + (double)(run.round % 16) * i / N;
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
		program__add(&run, sqrt(uv / vv));
	}
	return program__end(&run);
}
