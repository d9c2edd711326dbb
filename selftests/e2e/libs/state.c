// SPDX-License-Identifier: BSD-2-Clause
#include "state.h"

int exported = 7;
static int calls;
static _Thread_local unsigned int mine = 3;
_Thread_local unsigned int shared;

__attribute__((noinline)) int hook(int x)
{
	return x + 1;
}

static int next_id(void)
{
	static int id = 100;

	return ++id;
}

unsigned long step(const unsigned int *v, size_t n)
{
	unsigned long sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i] * 3u ^ v[i] >> 5;
	calls++;
	mine += (unsigned int)sum;
	shared ^= mine;
	return sum + (unsigned int)exported + (unsigned int)hook(calls) + mine + shared +
	       (unsigned int)next_id();
}
