// SPDX-License-Identifier: BSD-2-Clause
#include <exception>
#include <vector>

#include "cases.h"

#define NOINLINE __attribute__((noinline))

long guards_ended;

/* Some work, so that functions are worth an entry of their own. */
static inline long mix(long x, int n)
{
	for (int i = 0; i < n % 32 + 4; i++) {
		x = x * 31 + i;
		x ^= x >> 7;
		x += n ^ i;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

long throws(int n)
{
	long x = mix(1, n);

	switch (n % 6) {
	case 0:
		throw Derived(n);
	case 1:
		throw Failure("failure " + std::to_string(x));
	case 2:
		throw n;
	case 3:
		throw x / 3.0;
	case 4:
		throw std::out_of_range("range");
	}
	return x;
}

static NOINLINE long passes_deep(int n, int depth)
{
	long x = mix(depth, n);

	if (depth == 0)
		return x + outside(n);
	return x + passes_deep(n, depth - 1) * 3;
}

long passes(int n)
{
	return mix(passes_deep(n, 5), n) + passes_deep(n + 1, 2);
}

long catches(int n)
{
	long x = mix(2, n);

	for (int i = 0; i < 12; i++) {
		try {
			x += outside(n + i);
		} catch (const Failure &e) {
			x = x * 3 + e.what()[0];
		} catch (const Derived &e) {
			x = x * 5 + e.value;
		} catch (const Base &e) {
			x = x * 7 + e.value;
		} catch (const std::exception &e) {
			x = x * 11 + e.what()[0];
		} catch (int e) {
			x = x * 13 + e;
		}
	}
	return x;
}

long catches_all(int n)
{
	long x = mix(3, n);

	for (int i = 0; i < 12; i++) {
		try {
			x += outside(n + i);
		} catch (long) {
			x++;
		} catch (...) {
			x = x * 17 + i;
		}
	}
	return x;
}

long rethrows(int n)
{
	long x = mix(4, n);

	try {
		try {
			x += outside(n);
		} catch (Base &e) {
			e.value += 100;
			throw;
		} catch (const std::exception &e) {
			throw Failure(std::string(e.what()) + " again");
		}
	} catch (const Failure &e) {
		x += e.what()[0];
		throw Derived((int)(x % 1000));
	}
	return x;
}

long cleans_up(int n)
{
	Guard first(n);
	long x = mix(5, n);
	std::vector<long> list(8, x);

	for (int i = 0; i < 6; i++) {
		Guard inner(i + 1);
		std::string text(20 + i, 'x');

		list.push_back(outside(n + 3 * i) + (long)text.size());
		x += list[i];
	}
	return x;
}

/* The C code in between is compiled together with this. */
long through_c(int n)
{
	Guard guard(n);
	long x = mix(16, n);

	for (int i = 0; i < 8; i++) {
		try {
			Guard inner(i);

			x += plain_calls(outside, n + i);
		} catch (const Base &e) {
			x = x * 3 + e.value;
		} catch (const std::exception &e) {
			x = x * 5 + e.what()[0];
		}
	}
	return x;
}

namespace
{
struct Local : Base {
	using Base::Base;
};
struct Plain {
	int value;
};

NOINLINE long throws_local(int n)
{
	if (n % 3 == 0)
		throw Local(n);
	if (n % 3 == 1)
		throw Plain{n};
	return mix(6, n);
}
} // namespace

/* Types that only this file knows, and that look like nobody else's. */
long local_types(int n)
{
	long x = mix(7, n);

	for (int i = 0; i < 9; i++) {
		try {
			x += throws_local(n + i);
		} catch (const Plain &e) {
			x = x * 3 + e.value;
		} catch (const Local &e) {
			x = x * 5 + e.value;
		}
	}
	return x;
}

long nests(int n)
{
	long x = mix(8, n);

	for (int i = 0; i < 6; i++) {
		try {
			x += outside(n + i);
		} catch (...) {
			try {
				x += outside(n + i + 1);
				throw;
			} catch (const std::exception &e) {
				x = x * 3 + e.what()[0];
			} catch (...) {
				x = x * 5 + 1;
			}
		}
	}
	return x;
}

/* Exceptions that outlive their catch. */
long keeps(int n)
{
	std::vector<std::exception_ptr> kept;
	long x = mix(9, n);

	for (int i = 0; i < 6; i++) {
		try {
			x += outside(n + i);
		} catch (...) {
			kept.push_back(std::current_exception());
		}
	}
	for (const std::exception_ptr &e : kept) {
		try {
			std::rethrow_exception(e);
		} catch (const Base &base) {
			x = x * 3 + base.value;
		} catch (...) {
			x = x * 5 + 2;
		}
	}
	return x;
}

static NOINLINE long traced_deep(int n, int depth)
{
	long x = mix(depth, n);

	if (depth == 0)
		return x + outside_trace();
	return x + traced_deep(n, depth - 1);
}

long traced(int n)
{
	return mix(10, n) + traced_deep(n, 3) + outside_trace();
}

long library(int n)
{
	long x = mix(11, n);

	for (int i = 0; i < 12; i++) {
		Guard guard(i);

		try {
			x += outside_library(n + i);
		} catch (const Base &e) {
			x = x * 3 + e.value;
		} catch (const std::exception &e) {
			x = x * 5 + e.what()[0];
		}
	}
	return x;
}

long thread_exit(int n)
{
	Guard guard(n);
	long x = mix(12, n);

	try {
		outside_leave();
	} catch (const std::exception &) {
		guards_ended = -1;
	}
	return x;
}

long cancelled(int n)
{
	Guard guard(2 * n);
	long x = mix(13, n);

	outside_began();
	outside_wait();
	return x;
}

/* Cancelled at any instruction, so without anything to clean up. */
long spinning(int n)
{
	volatile long x = mix(14, n), more = 1;

	outside_began();
	outside_anywhere();
	while (more)
		x = mix(x, n);
	return x;
}
