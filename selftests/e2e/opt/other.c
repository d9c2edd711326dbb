// SPDX-License-Identifier: BSD-2-Clause
#include "cases.h"

int shared_counter = 11;
_Thread_local int shared_local = 21;
static int counter = 100;

static __attribute__((noinline)) int common_name(int i)
{
	return counter - i;
}

uint64_t other_state(int n)
{
	counter += n & 1;
	return (uint64_t)common_name(n) * shared_counter;
}

int other_even(int n)
{
	return n ? this_odd(n - 1) : 1;
}
