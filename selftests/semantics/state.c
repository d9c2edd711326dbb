// SPDX-License-Identifier: BSD-2-Clause
/*
 * State has one place, whichever version changes it: static variables of files, functions and threads.
 * Each version sees what the others left, so a second instance shows as a step that is missing.
 */
#include <stdatomic.h>
#include <string.h>
#include <threads.h>

#include "state.h"

static long counter = 1;
static char buffer[32] = "begins with this";
static _Thread_local long local = 3, local_zero;
_Thread_local long shared_local = 5, shared_zero;
long common_variable __attribute__((common));
static int flag; /* shrunk to one bit by plain compilers */

static SEM_NOINLINE long step(int n)
{
	static long calls = 100;
	int i;

	SEM_HERE("state.step");
	for (i = 0; i < n; i++) {
		calls += i & 1 ? 3 : 1;
		buffer[(calls + i) & 31] ^= (char)(i + 1);
		buffer[(calls + i) & 31] ^= (char)(i + 1);
	}
	counter += n;
	return calls;
}

static SEM_NOINLINE int toggle(int n)
{
	int i;

	SEM_HERE("toggle");
	for (i = 0; i < n; i++)
		flag = !flag;
	return flag;
}

static SEM_NOINLINE long step_local(int n)
{
	int i;

	SEM_HERE("step_local");
	for (i = 0; i < n; i++) {
		local += i;
		local_zero -= i;
		shared_local += 2;
		shared_zero += local & 1;
	}
	return local + local_zero;
}

SEM_NOINLINE long *address_of(int which)
{
	int i;

	SEM_HERE("address_of");
	for (i = 0; i < which; i++)
		if (i == 100)
			return NULL;
	switch (which) {
	case 0:
		return &counter;
	case 1:
		return &local;
	case 2:
		return &shared_local;
	default:
		return &common_variable;
	}
}

static int in_thread(void *arg)
{
	long *out = arg;

	step_local(10);
	*out = local + local_zero * 3 + shared_local * 5 + (address_of(1) == &local);
	return 0;
}

SEM_CASE(state)
{
	long before = step(0), before_other = step_other(0), at = counter, mine = header_count(0),
	     theirs = header_count_other(0), sum, own = 0;
	thrd_t thread;

	sum = step(7) - before;
	sum += (step_other(5) - before_other) * 100;
	sem_print("  %ld %ld\n", sum, counter - at);
	sum = header_count(8) - mine;
	sem_print("  %ld %ld\n", sum, header_count_other(9) - theirs);
	sem_print("  %d %.16s\n", toggle(0) ^ toggle(3), buffer);
	sem_print("  %ld\n", step_local(4) - local - local_zero);
	before = shared_local;
	step_local(6);
	sem_print("  %ld %d\n", shared_local - before,
		  (address_of(0) == &counter) + 2 * (address_of(1) == &local) +
			  4 * (address_of(2) == &shared_local) +
			  8 * (address_of(3) == &common_variable));
	thrd_create(&thread, in_thread, &own);
	thrd_join(thread, NULL);
	sem_print("  %ld\n", own);
}
