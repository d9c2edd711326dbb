// SPDX-License-Identifier: BSD-2-Clause
/* Functions that are large in the bitcode; the shipped build inlines one of them. */
#include <stdint.h>
#include <stdio.h>

#define TEN(s)	   s s s s s s s s s s
#define NOTHING(x) TEN(TEN(x = x * 1 + 0;))

uint64_t inlined(uint64_t x, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		NOTHING(x)
		x = x * 31 + (uint64_t)i;
	}
	return x;
}

__attribute__((noinline)) uint64_t called(uint64_t x, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		NOTHING(x)
		x = x * 37 + (uint64_t)i;
	}
	return x;
}

__attribute__((noinline)) uint64_t outer(int n)
{
	uint64_t x = 1;
	int i;

	for (i = 0; i < n; i++)
		x = inlined(x, i);
	return x > 1 ? x : called(x, n);
}

int main(int argc, char **argv)
{
	(void)argv;
	printf("%llu\n", (unsigned long long)outer(argc * 100));
	return 0;
}
