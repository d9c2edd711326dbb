// SPDX-License-Identifier: BSD-2-Clause
/* The same names as in state.c, and other variables. */
#include "state.h"

static long counter = 1000;
static _Thread_local long local = 33;

static SEM_NOINLINE long step(int n)
{
	static long calls = 7;
	int i;

	SEM_HERE("state2.step");
	for (i = 0; i < n; i++) {
		calls += 11;
		counter += calls & 1;
		local ^= i;
		local ^= i;
		shared_zero += 1;
		common_variable += i;
	}
	return calls;
}

long step_other(int n)
{
	return step(n) + (local == 33 ? 0 : 1000000);
}

long header_count_other(int n)
{
	return header_count(n);
}
