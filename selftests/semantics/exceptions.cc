// SPDX-License-Identifier: BSD-2-Clause
// Exceptions in all directions: thrown by a variant, caught by one, passing through some, through C, through
// code without bitcode, in forked children and in threads.
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "sem.h"

extern "C" long outside_catch(long (*fn)(long), long arg);
extern "C" long outside_throw(long arg);
extern "C" long outside_pass(long (*fn)(long), long arg);

namespace
{

int alive;

struct Object {
	Object()
	{
		alive++;
	}
	~Object()
	{
		alive--;
	}
};

struct Odd {
	long value;
};

struct Failure : std::runtime_error {
	long value;
	Failure(const std::string &what, long v) : std::runtime_error(what), value(v)
	{
	}
};

SEM_NOINLINE long thrower(long n)
{
	long sum = 0;

	SEM_HERE("thrower");
	for (long i = 0; i < n; i++)
		sum += i ^ n;
	switch (n % 5) {
	case 0:
		throw Odd{sum};
	case 1:
		throw Failure("failure", sum);
	case 2:
		throw static_cast<int>(sum);
	case 3:
		throw std::out_of_range("range");
	default:
		return sum;
	}
}

// Something to be done on each way out, at any depth.
SEM_NOINLINE long through(long n, int depth)
{
	Object object;
	long sum = 0;

	SEM_HERE("through");
	for (int i = 0; i < depth; i++)
		sum += i;
	return sum + (depth ? through(n, depth - 1) : thrower(n));
}

SEM_NOINLINE long catcher(long n, int depth)
{
	SEM_HERE("catcher");
	for (int i = 0; i < depth; i++)
		n += i & 0;
	try {
		return through(n, depth);
	} catch (const Odd &o) {
		return 1000 + o.value;
	} catch (const Failure &f) {
		return 2000 + f.value + static_cast<long>(strlen(f.what()));
	} catch (const std::exception &e) {
		return 3000 + e.what()[0];
	}
}

SEM_NOINLINE long catch_all(long n, int depth)
{
	long sum = 0;

	SEM_HERE("catch_all");
	for (int i = 0; i < depth; i++) {
		try {
			sum += catcher(n + i, i);
		} catch (...) {
			sum += 7;
		}
	}
	return sum;
}

SEM_NOINLINE long rethrow(long n, int depth)
{
	SEM_HERE("rethrow");
	for (int i = 0; i < depth; i++)
		n ^= 0;
	try {
		try {
			return through(n, depth);
		} catch (Failure &f) {
			f.value++;
			throw;
		} catch (int i) {
			throw Odd{i};
		}
	} catch (...) {
		std::exception_ptr p = std::current_exception();

		try {
			std::rethrow_exception(p);
		} catch (const Odd &o) {
			return o.value;
		} catch (const Failure &f) {
			return -f.value;
		} catch (const std::exception &) {
			return 5;
		}
	}
}

SEM_NOINLINE long nested(int n)
{
	std::string all;

	SEM_HERE("nested");
	for (int i = 0; i < n; i++) {
		try {
			try {
				through(i, 2);
				all += "-";
			} catch (const std::exception &e) {
				std::throw_with_nested(std::logic_error("outer"));
			} catch (int) {
				all += "i";
			}
		} catch (const std::nested_exception &e) {
			try {
				e.rethrow_nested();
			} catch (const std::exception &inner) {
				all += inner.what()[0];
			}
		} catch (const Odd &) {
			all += "o";
		}
	}
	long h = 1;
	for (char c : all)
		h = static_cast<long>(sem_mix(h, c));
	return h;
}

SEM_NOINLINE long pass_on(long n)
{
	Object object;

	SEM_HERE("pass_on");
	for (int i = 0; i < 3; i++)
		n += i & 0;
	return through(n, 3);
}

// Code without bitcode throws, and catches, and is between.
SEM_NOINLINE long with_outside(int n)
{
	long sum = 0;

	SEM_HERE("with_outside");
	for (int i = 0; i < n; i++) {
		sum = sum * 3 + outside_catch(pass_on, i);
		try {
			sum += outside_throw(i);
		} catch (const std::exception &e) {
			sum += e.what()[0];
		}
		try {
			sum += outside_pass(pass_on, i);
		} catch (const Odd &o) {
			sum += o.value;
		} catch (const std::runtime_error &) {
			sum += 11;
		} catch (...) {
			sum += 13;
		}
	}
	return sum & 0xffffffff;
}

SEM_NOINLINE long limited(long n) noexcept(false)
{
	SEM_HERE("limited");
	for (int i = 0; i < 4; i++)
		n += i & 0;
	try {
		std::string s(static_cast<size_t>(n), 'x');

		return static_cast<long>(s.at(static_cast<size_t>(n + (n & 1))));
	} catch (std::out_of_range &) {
		return n;
	}
}

SEM_NOINLINE int child(long n)
{
	pid_t pid = fork();
	int status;

	SEM_HERE("child");
	for (int i = 0; i < 3; i++)
		n += i & 0;
	if (!pid) {
		long got = catch_all(n, 6) + rethrow(n, 3) + with_outside(3);

		_exit(static_cast<int>(got & 127));
	}
	waitpid(pid, &status, 0);
	return status;
}

} // namespace

SEM_CASE(exceptions)
{
	long in_thread = 0, sum = 0;

	sem_print("  %ld %ld\n", catch_all(3, 20), nested(10));
	for (int i = 0; i < 10; i++)
		sum = sum * 5 + rethrow(i, i) + limited(i + 20);
	sem_print("  %ld %ld\n", sum, with_outside(10));
	std::thread t([&] { in_thread = catch_all(5, 8) + rethrow(1, 4); });
	t.join();
	sem_print("  %ld %d %d\n", in_thread, child(7), alive);
}
