// SPDX-License-Identifier: BSD-2-Clause
// What C++ adds to calls: virtual ones, through pointers to members, by types, by templates.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <typeinfo>
#include <vector>

#include "sem.h"

namespace
{

class Shape
{
      public:
	virtual ~Shape() = default;
	virtual long area(int n) const = 0;
	virtual const char *name() const
	{
		return "shape";
	}
};

class Square : public Shape
{
      public:
	explicit Square(long s) : side(s)
	{
	}
	SEM_NOINLINE long area(int n) const override
	{
		long sum = 0;

		SEM_HERE("Square::area");
		for (int i = 0; i < n; i++)
			sum += side * side ^ i;
		return sum;
	}
	SEM_NOINLINE long scaled(long by) const
	{
		long sum = 0;

		SEM_HERE("Square::scaled");
		for (long i = 0; i < by; i++)
			sum += side * i;
		return sum;
	}
	long side;
};

struct Named {
	virtual ~Named() = default;
	virtual std::string label(int n) const
	{
		std::string s;

		SEM_HERE("Named::label");
		for (int i = 0; i < n; i++)
			s += static_cast<char>('a' + i);
		return s;
	}
	long number = 17;
};

// The second base is reached through thunks that adjust "this"; the virtual one through its table.
class Both : public Square, public virtual Named
{
      public:
	Both() : Square(5)
	{
	}
	SEM_NOINLINE long area(int n) const override
	{
		long sum = number;

		SEM_HERE("Both::area");
		for (int i = 0; i < n; i++)
			sum = sum * 3 + side;
		return sum & 0xffffff;
	}
	SEM_NOINLINE std::string label(int n) const override
	{
		std::string s = "both";

		SEM_MAYBE("Both::label");
		for (int i = 0; i < n; i++)
			s.insert(s.begin(), static_cast<char>('A' + i));
		return s;
	}
	const char *name() const override
	{
		return "both";
	}
};

SEM_NOINLINE long total(const std::vector<std::unique_ptr<Shape>> &shapes, int n)
{
	long sum = 0;

	SEM_HERE("total");
	for (const auto &s : shapes) {
		sum = sum * 7 + s->area(n) + s->name()[0];
		if (const auto *named = dynamic_cast<const Named *>(s.get()))
			sum += static_cast<long>(named->label(n & 7).size()) + named->number;
		const Shape &shape = *s;

		sum += typeid(shape) == typeid(Both);
	}
	return sum;
}

SEM_NOINLINE long by_member(const Square &s, int n)
{
	long (Square::*fn)(long) const = n & 1 ? &Square::scaled : nullptr;
	long (Square::*area)(int) const = &Square::area;
	long Square::*field = &Square::side;
	long sum = 0;

	SEM_HERE("by_member");
	for (int i = 0; i < n; i++)
		sum += (fn ? (s.*fn)(i) : 1) + (s.*area)(i) + s.*field;
	return sum;
}

template <typename F> SEM_NOINLINE long apply(F fn, int n)
{
	long sum = 0;

	SEM_HERE("apply");
	for (int i = 0; i < n; i++)
		sum = sum * 3 ^ fn(i);
	return sum;
}

SEM_NOINLINE long closures(int n)
{
	std::function<long(int)> f = [n](int i) { return static_cast<long>(i) * n; };
	long calls = 0, sum = 0;

	SEM_HERE("closures");
	for (int i = 0; i < 3; i++)
		sum += apply([&](int k) { return calls++ + k; }, n);
	return sum + apply(f, n) + apply([](int k) { return static_cast<long>(k) << 3; }, n);
}

SEM_NOINLINE std::string texts(int n)
{
	std::map<std::string, int> count;
	std::string all;

	SEM_HERE("texts");
	for (int i = 0; i < n; i++)
		count["key" + std::to_string(i * i % 11)] += i;
	for (const auto &[key, value] : count)
		all += key + "=" + std::to_string(value) + ";";
	return all;
}

} // namespace

// In all units one, with one state.
inline SEM_NOINLINE long comdat_state(int n)
{
	static long calls;
	long before = calls;

	SEM_HERE("comdat_state");
	for (int i = 0; i < n; i++)
		calls += i & 1 ? 2 : 1;
	return calls - before;
}

SEM_CASE(objects)
{
	std::vector<std::unique_ptr<Shape>> shapes;
	Both both;
	const Named *named = &both;
	const Square *square = &both;

	shapes.emplace_back(new Square(3));
	shapes.emplace_back(new Both);
	sem_print("  %ld %ld %ld\n", total(shapes, 5), by_member(Square(4), 7), by_member(both, 6));
	sem_print("  %s %ld %ld\n", named->label(4).c_str(), square->area(3), closures(6));
	sem_print("  %s %ld\n", texts(30).c_str(), comdat_state(9));
}
