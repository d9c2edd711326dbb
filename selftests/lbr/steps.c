// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is recorded, and compared with an instrumented build: branches that depend on data, calls, and
 * loops. With RECORDED, the recorder begins at main.
 */
#include <stdio.h>

static volatile unsigned int longest;

__attribute__((noinline)) unsigned int steps(unsigned long n)
{
	unsigned int count = 0;

	while (n != 1) {
		if (n & 1)
			n = 3 * n + 1;
		else
			n /= 2;
		count++;
	}
	return count;
}

__attribute__((noinline)) void look(unsigned int up_to)
{
	for (unsigned int i = 1; i < up_to; i++) {
		unsigned int count = steps(i);

		if (count > longest)
			longest = count;
	}
}

int main(void)
{
#ifdef RECORDED
	__asm__ volatile("int3");
#endif
	look(60);
	printf("%u\n", longest);
	return 0;
}
