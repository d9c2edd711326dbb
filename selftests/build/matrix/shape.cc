// SPDX-License-Identifier: BSD-2-Clause
#include "shape.h"

namespace
{
struct Circle : Shape {
	long area(int n) const override
	{
		long sum = 1;

		for (int i = 1; i < n; i++)
			sum = (sum * 31 + i) % 100003;
		return sum;
	}
} round_one;
} // namespace

const Shape *circle()
{
	return &round_one;
}

long throws(int i, int n)
{
	long sum = 0;

	for (int k = 0; k < n; k++) {
		sum += k * i;
		if (k == 5 && i % 3 == 1)
			throw i;
		if (k == 7 && i % 3 == 2)
			throw round_one;
	}
	return sum;
}

int made()
{
	static int count;

	return ++count;
}

int other_count()
{
	return shared_count();
}

int (*count_address())()
{
	return &shared_count;
}
