// SPDX-License-Identifier: BSD-2-Clause
#include "inline.h"

#include <cstdio>
#include <memory>
#include <thread>

namespace
{
struct Square : Shape {
	double area(int n) const override
	{
		double a = 0;

		for (int i = 0; i < n; i++)
			a += i * i;
		return a + Shape::area(n);
	}
};

int counter;

struct Counted {
	Counted()
	{
		counter++;
	}
	~Counted()
	{
		counter += 10;
	}
};
} // namespace

thread_local std::string thread_name = "thread " + std::to_string(counter);

__attribute__((noinline)) int unwinds(int n)
{
	int caught = 0;

	for (int i = 0; i < n; i++) {
		try {
			Counted c;

			caught += thrower(i);
		} catch (const std::out_of_range &e) {
			caught += (int)std::string(e.what()).size();
		} catch (...) {
			caught -= 1000;
		}
	}
	return caught;
}

int main()
{
	std::unique_ptr<Shape> shape = std::make_unique<Square>();

	printf("%d %d %d\n", shared_count(3), other_unit(4), shared_count(1));
	printf("%g %g\n", shape->area(5), power(1.5, 6));
	printf("%d %d\n", unwinds(9), counter);
	printf("%d %s\n", inline_variable, thread_name.c_str());
	std::thread t([] { printf("%s\n", thread_name.c_str()); });
	t.join();
	try {
		power(2, 3);
		thrower(3);
	} catch (const std::exception &e) {
		printf("%s\n", e.what());
	}
}
