/* SPDX-License-Identifier: BSD-2-Clause */
/* A local kernel whose arguments are constants, and a local function that is dead when optimized. */
#include <stdio.h>

static double data[100];

static __attribute__((noinline)) double kernel(const double *a, int n, int stride)
{
	double sum = 0;

	for (int i = 0; i < n; i += stride)
		sum += a[i] * a[i];
	return sum;
}

static __attribute__((noinline)) void unused(int n)
{
	(void)n;
}

int main(void)
{
	data[3] = 2;
	unused(3);
	printf("%g\n", kernel(data, 100, 1));
	return 0;
}
