/* SPDX-License-Identifier: BSD-2-Clause */
/* Inline functions, templates and statics that two units both emit. */
#include <stdexcept>
#include <string>
#include <vector>

inline int shared_count(int n)
{
	static int total;
	static std::vector<int> seen{1, 2, 3};

	for (int i = 0; i < n; i++)
		seen.push_back(i);
	total += (int)seen.size();
	return total;
}

template <typename T> __attribute__((noinline)) T power(T x, int n)
{
	T r = 1;

	for (int i = 0; i < n; i++)
		r *= x;
	return r;
}

inline int inline_variable = 11;
extern thread_local std::string thread_name;

struct Shape {
	virtual ~Shape() = default;
	virtual double area(int n) const
	{
		double a = 0;

		for (int i = 1; i <= n; i++)
			a += 1.0 / i;
		return a;
	}
};

int other_unit(int n);
int thrower(int n);
