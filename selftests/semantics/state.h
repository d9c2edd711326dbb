/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SEM_STATE_H
#define SEM_STATE_H

/* What the units of the case "state" share. */
#include "sem.h"

extern _Thread_local long shared_local, shared_zero;
extern long common_variable;
long step_other(int n);
long *address_of(int which);
long header_count_other(int n);

/* A variable for each unit. */
static inline long header_count(int n)
{
	static long count;
	int i;

	for (i = 0; i < n; i++)
		count += i & 3 ? 1 : 2;
	return count;
}

#endif
