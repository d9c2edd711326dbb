// SPDX-License-Identifier: BSD-2-Clause
#include "inline.h"

int other_unit(int n)
{
	inline_variable += power(2, n);
	return shared_count(n) * 1000 + power(n, 3);
}

int thrower(int n)
{
	for (int i = 0; i <= n; i++)
		if (i % 4 == 3)
			throw std::out_of_range("out of range at " + std::to_string(i));
	return n;
}
