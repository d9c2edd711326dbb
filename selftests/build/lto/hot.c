// SPDX-License-Identifier: BSD-2-Clause
/* A loop around a function of another unit, whose every call a link puts in place. */
#include <stdio.h>

int step(int x);
extern int calls;

__attribute__((noinline)) long hot(long n)
{
	long sum = 0;

	for (long i = 0; i < n; i++) {
		sum += step((int)i);
		sum ^= sum << 3;
	}
	return sum;
}

int main(void)
{
	long sum = 0;

	for (int i = 0; i < 40000; i++)
		sum += hot(2000 + i % 7);
	printf("%ld %d\n", sum, calls);
	return 0;
}
