// SPDX-License-Identifier: BSD-2-Clause
/* A definition for what is weak in symbols.c. */
#include "sem.h"

long weak_strong(int n);

SEM_NOINLINE long weak_strong(int n)
{
	long sum = 10;
	int i;

	SEM_HERE("weak_strong");
	for (i = 0; i < n; i++)
		sum += i * n & 7;
	return sum;
}
