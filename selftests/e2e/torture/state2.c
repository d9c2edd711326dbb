// SPDX-License-Identifier: BSD-2-Clause
/* The same names as in state.c, for other things. */
#include "torture.h"

#define NOINLINE __attribute__((noinline))

static long counter = 77;
static short buffer[16];
static _Thread_local long local = 9;
const char *const shared_name = "abcd";

static NOINLINE int step(int n)
{
	static short calls = 500;
	int i;

	for (i = 0; i < n; i++) {
		calls += i & 1 ? 5 : 2;
		buffer[(calls ^ i) & 15] += calls;
	}
	return calls;
}

uint64_t same_names2(int round)
{
	uint64_t h = 1;
	int i;

	for (i = 0; i < 40; i++) {
		counter = (counter * 11 + step(i & 7) + round) & 0xffff;
		local += counter & 7;
		h = mix(h, counter + buffer[i & 15] + header_counter(i & 3) + local);
	}
	local &= 0xffff;
	return h;
}

/* Wins over the weak one. */
NOINLINE int weak_one(int n)
{
	int i, sum = 1;

	for (i = 0; i < n; i++)
		sum += i * n & 7;
	return sum;
}
