// SPDX-License-Identifier: BSD-2-Clause
/* Linear equations by elimination with partial pivoting, column by column. */
#include <math.h>

#include "kernel.h"

#define N 200

static double matrix[N][N]; /* by columns: matrix[j][i] is row i, column j */
static double rhs[N];
static int pivots[N];

/* y += a * x */
void add_scaled(int n, double a, const double *x, double *y)
{
	for (int i = 0; i < n; i++)
		y[i] += a * x[i];
}

static int largest(int n, const double *x)
{
	int best = 0;

	for (int i = 1; i < n; i++)
		if (fabs(x[i]) > fabs(x[best]))
			best = i;
	return best;
}

void factor(void)
{
	for (int k = 0; k < N - 1; k++) {
		double *column = matrix[k];
		int p = k + largest(N - k, column + k);
		double swap = column[p];

		pivots[k] = p;
		column[p] = column[k];
		column[k] = swap;
		for (int i = k + 1; i < N; i++)
			column[i] /= -column[k];
		for (int j = k + 1; j < N; j++) {
			double t = matrix[j][p];

			matrix[j][p] = matrix[j][k];
			matrix[j][k] = t;
			add_scaled(N - k - 1, t, column + k + 1, matrix[j] + k + 1);
		}
	}
}

void solve(void)
{
	for (int k = 0; k < N - 1; k++) {
		double t = rhs[pivots[k]];

		rhs[pivots[k]] = rhs[k];
		rhs[k] = t;
		add_scaled(N - k - 1, t, matrix[k] + k + 1, rhs + k + 1);
	}
	for (int k = N - 1; k >= 0; k--) {
		rhs[k] /= matrix[k][k];
		add_scaled(k, -rhs[k], matrix[k], rhs);
	}
}

static void fill(uint32_t seed)
{
	for (int j = 0; j < N; j++)
		for (int i = 0; i < N; i++) {
			seed = seed * 1664525u + 1013904223u;
			matrix[j][i] = (double)(seed >> 8) / (1 << 24) - 0.5;
		}
	for (int i = 0; i < N; i++)
		rhs[i] = 1 + i % 3;
}

double kernel__round(uint64_t round)
{
	double sum = 0;

	fill((uint32_t)round + 1);
	factor();
	solve();
	for (int i = 0; i < N; i++)
		sum += rhs[i];
	return sum;
}
