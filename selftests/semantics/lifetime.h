/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SEM_LIFETIME_H
#define SEM_LIFETIME_H

#include "sem.h"

extern int counted_made, counted_ended;

struct Counted {
	long value;
	explicit Counted(long v) : value(v)
	{
		counted_made++;
	}
	~Counted()
	{
		counted_ended++;
	}
};

/* Has a dynamic initializer, so others reach it through a function. */
extern thread_local Counted shared_in_thread;
long lifetime_other(int n);

/* One object for all units, with one guard. */
inline long shared_guarded(long by)
{
	static Counted once(by);

	return once.value;
}

template <typename T> long per_type(T by)
{
	static T sum;
	long got = 0;

	for (int i = 0; i < 3; i++) {
		T before = sum;

		sum += by;
		got += static_cast<long>(sum - before);
	}
	sum = 0;
	return got + static_cast<long>(sizeof(T));
}

inline long inline_variable = 40;

#endif
