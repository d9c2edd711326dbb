/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases.h"

long plain_calls(long (*fn)(int n), int n)
{
	long x = 1;
	int i;

	for (i = 0; i < 3; i++) {
		x = x * 31 + fn(n + i);
		x ^= x >> 7;
		x += n ^ i;
	}
	return x;
}
