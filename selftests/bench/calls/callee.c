// SPDX-License-Identifier: BSD-2-Clause
/*
 * The function that is called, under the name that -DCALLEE gives it: long enough to be redirectable,
 * of position-independent code without relocations, so that its copy runs anywhere.
 */
#include "calls.h"

long CALLEE(long x, long n)
{
	long sum = x;

	for (long i = 0; i < n; i++) {
		sum ^= sum << 13;
		sum += (sum >> 7) * i;
		sum ^= sum << 17;
		sum += (i & 3) ? x : n;
	}
	return sum;
}
