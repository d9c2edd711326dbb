// SPDX-License-Identifier: BSD-2-Clause
/* Built by the plain compiler: there is no bitcode, so no variant holds any of it. */
#include <execinfo.h>
#include <pthread.h>
#include <unistd.h>

#include "cases.h"

void *outside_bottom;

long outside(int n)
{
	switch (n % 8) {
	case 1:
		throw Derived(n);
	case 2:
		throw Base(n);
	case 4:
		throw Failure("failure");
	case 5:
		throw std::length_error("length");
	case 7:
		throw n;
	}
	return n;
}

#ifndef OUTSIDE_LIBRARY
long (*outside_library)(int n) = outside;

int outside_trace(void)
{
	void *list[64];
	int i, n = backtrace(list, 64);

	for (i = 0; i < n; i++)
		if (list[i] == outside_bottom)
			return 1;
	return 0;
}

void outside_leave(void)
{
	pthread_exit(nullptr);
}

void outside_anywhere(void)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
}

void outside_wait(void)
{
	for (;;)
		pause();
}
#endif
