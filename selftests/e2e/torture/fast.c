// SPDX-License-Identifier: BSD-2-Clause
/* Built with -ffast-math. */
#include "torture.h"

uint64_t fast(int round)
{
	double list[100], sum = 0;
	int i;

	for (i = 0; i < 100; i++)
		list[i] = 1.0 / (i + round + 1);
	for (i = 0; i < 100; i++)
		sum += list[i] * list[99 - i];
	return (uint64_t)(sum * 0x1p52);
}
