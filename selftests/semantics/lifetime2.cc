// SPDX-License-Identifier: BSD-2-Clause
// The same names as in lifetime.cc, and other things.
#include "lifetime.h"

namespace
{

struct Local {
	double value;
	int unused[3];
	explicit Local(double v) : value(v)
	{
	}
};

SEM_NOINLINE long helper(int n)
{
	long sum = 100;

	SEM_HERE("lifetime2.helper");
	for (int i = 0; i < n; i++)
		sum -= i;
	return sum;
}

Local global(static_cast<double>(helper(3)));
thread_local Local in_thread(static_cast<double>(helper(2)) + 0.5);

} // namespace

SEM_NOINLINE long lifetime_other(int n)
{
	long sum = 0;

	SEM_HERE("lifetime_other");
	for (int i = 0; i < n; i++)
		sum += static_cast<long>(global.value + in_thread.value * 2) + helper(i) +
		       shared_in_thread.value + shared_guarded(9) + per_type(2) + per_type(2.0) +
		       inline_variable;
	return sum;
}
