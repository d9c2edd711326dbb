// SPDX-License-Identifier: BSD-2-Clause
/* What C++ does behind one's back. */
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <vector>

#include "torture.h"

#define NOINLINE __attribute__((noinline))

namespace
{

int constructed;

struct Shape {
	virtual ~Shape() = default;
	virtual int area(int n) const = 0;
	virtual const char *name() const
	{
		return "shape";
	}
};

struct Square : Shape {
	int side;
	explicit Square(int s) : side(s)
	{
	}
	int area(int n) const override
	{
		int sum = 0;
		for (int i = 0; i < n; i++)
			sum += side * side ^ i;
		return sum;
	}
};

struct Circle : Shape {
	int radius;
	explicit Circle(int r) : radius(r)
	{
	}
	int area(int n) const override
	{
		int sum = 3;
		for (int i = 0; i < n; i++)
			sum += radius * radius * 3 - i;
		return sum;
	}
	const char *name() const override
	{
		return "circle";
	}
};

struct Counted {
	int value;
	explicit Counted(int v) : value(v + constructed++)
	{
	}
	~Counted()
	{
		constructed += 100;
	}
};

Counted global_object(17);
thread_local Counted local_object(5);

NOINLINE int total(const std::vector<std::unique_ptr<Shape>> &shapes, int n)
{
	int sum = 0;
	for (const auto &pointer : shapes) {
		const Shape &shape = *pointer;
		sum += shape.area(n) + shape.name()[0] +
		       (dynamic_cast<const Circle *>(&shape) ? 1 : 0) +
		       (typeid(shape) == typeid(Square) ? 2 : 0);
	}
	return sum;
}

NOINLINE int guarded(int n)
{
	static Counted first(n);
	static std::string text(n % 7 + 3, 'x');
	int sum = 0;
	for (int i = 0; i < n % 10; i++)
		sum += first.value + text[i % text.size()];
	return sum;
}

struct Error : std::runtime_error {
	int code;
	explicit Error(int c) : std::runtime_error("error"), code(c)
	{
	}
};

NOINLINE int risky(int n, int depth)
{
	Counted guard(depth);
	int sum = 0;
	for (int i = 0; i < depth; i++)
		sum += i ^ n;
	if (depth > 6)
		throw Error(sum & 0xff);
	return risky(n, depth + 1) + sum;
}

NOINLINE int between(int n)
{
	int sum = 0;
	for (int i = 0; i < 3; i++) {
		try {
			sum += risky(n + i, i);
		} catch (const std::logic_error &) {
			sum += 1000;
		}
	}
	return sum;
}

template <typename T> NOINLINE T power(T base, int n)
{
	T result = 1;
	for (int i = 0; i < n; i++)
		result = static_cast<T>(result * base + i);
	return result;
}

} // namespace

inline int inline_state(int n)
{
	static int state;
	for (int i = 0; i < n; i++)
		state = (state * 5 + i) & 0xffff;
	return state;
}

uint64_t objects(int round)
{
	std::vector<std::unique_ptr<Shape>> shapes;
	uint64_t h = 1;

	for (int i = 0; i < 10; i++)
		if ((i + round) % 3)
			shapes.push_back(std::make_unique<Square>(i));
		else
			shapes.push_back(std::make_unique<Circle>(i));
	for (int i = 0; i < 5; i++)
		h = mix(h, total(shapes, i * 3));
	return h;
}

uint64_t guards(int round)
{
	uint64_t h = 1;

	for (int i = 0; i < 10; i++)
		h = mix(h, guarded(round + i) + global_object.value + local_object.value +
				   inline_state(i));
	return h;
}

uint64_t exceptions(int round)
{
	uint64_t h = 1;

	for (int i = 0; i < 4; i++) {
		try {
			h = mix(h, between(round + i));
		} catch (const Error &e) {
			h = mix(h, e.code + e.what()[0]);
		}
	}
	return mix(h, constructed);
}

uint64_t templates(int round)
{
	std::map<std::string, int> words;
	std::function<int(int)> plus = [round](int n) { return n + round; };
	uint64_t h = 1;

	for (int i = 0; i < 30; i++)
		words["w" + std::to_string(i * round % 17)] += plus(i);
	for (const auto &word : words)
		h = mix(h, word.second + word.first.size());
	return mix(h, power<int>(round & 7, 9) + power<short>(3, 5) +
			      static_cast<int>(power<double>(0.5, 9)));
}

/* Through C, which knows nothing of it. */
uint64_t thrown_through(int round)
{
	uint64_t h = 1;
	int list[20];

	for (int i = 0; i < 20; i++)
		list[i] = i * round;
	for (int i = 0; i < 5; i++) {
		try {
			h = mix(h, each(list, 20, [](int n) {
					if (n % 50 == 7)
						throw n;
					return n & 7;
				}));
		} catch (int n) {
			h = mix(h, n);
		}
		for (int &n : list)
			n &= 0xffff;
	}
	return h;
}
