// SPDX-License-Identifier: BSD-2-Clause
/* A library with work to do and state to keep; FACTOR tells one from another. */
#include "work.h"

#ifndef FACTOR
#define FACTOR 3u
#endif

static unsigned long total;

unsigned long work(const unsigned int *v, size_t n)
{
	unsigned long sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i] * FACTOR ^ v[i] >> 5;
	total += sum;
	return sum;
}

unsigned long work_total(void)
{
	return total;
}
