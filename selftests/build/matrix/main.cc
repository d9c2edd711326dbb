// SPDX-License-Identifier: BSD-2-Clause
// What C++ adds to the calls of e2e/prepare: exceptions, virtual calls, inline functions that two
// units have, objects with constructors, thread-locals that are made when they are first used.
#include "shape.h"

#include <cstdio>
#include <cstdlib>

namespace
{
int alive;

struct Counted {
	Counted()
	{
		alive++;
	}
	~Counted()
	{
		alive--;
	}
};

struct Square : Shape {
	int side;

	explicit Square(int s) : side(s)
	{
	}
	long area(int n) const override
	{
		long sum = 0;

		for (int i = 0; i < n; i++)
			sum += side * side + sum % 7;
		return sum;
	}
};

struct Global {
	int value;

	Global() : value(made())
	{
	}
	~Global()
	{
		std::printf("gone %d %d\n", value, shared_count());
	}
} global;

thread_local Counted *mine = new Counted;
} // namespace

__attribute__((noinline)) static long catches(int n)
{
	long sum = 0;

	for (int i = 0; i < n; i++) {
		try {
			Counted c;

			sum += throws(i, n) + alive;
		} catch (int e) {
			sum += 1000 + e;
		} catch (const Shape &s) {
			sum += s.area(i);
		}
	}
	return sum;
}

static void round()
{
	const Square square(3);
	const Shape *shapes[] = {&square, circle()};
	long (Shape::*area)(int) const = &Shape::area;

	for (const Shape *s : shapes)
		std::printf("%ld %ld\n", s->area(20), (s->*area)(5));
	std::printf("%ld\n", catches(12));
	std::printf("%d %d %d\n", shared_count(), other_count(), global.value);
	std::printf("%d %d\n", mine != nullptr, alive);
	std::printf("%d\n", &shared_count == count_address());
}

int main(int argc, char **argv)
{
	for (int n = argc > 1 ? std::atoi(argv[1]) : 1; n > 0; n--)
		round();
	return 0;
}
