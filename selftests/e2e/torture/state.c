// SPDX-License-Identifier: BSD-2-Clause
/* What has a place or a state of its own, and must have it once. */
#include <stdio.h>
#include <string.h>

#include "torture.h"

#define NOINLINE __attribute__((noinline))

static int counter = 1;
static char buffer[64];
static _Thread_local int local = 3;
_Thread_local int shared_local = 5;

static NOINLINE int step(int n)
{
	static int calls;
	int i;

	for (i = 0; i < n; i++) {
		calls += i & 1 ? 3 : 1;
		buffer[(calls + i) & 63] += (char)calls;
	}
	return calls &= 0xfffff;
}

uint64_t same_names(int round)
{
	uint64_t h = 1;
	int i;

	for (i = 0; i < 40; i++) {
		counter = (counter * 7 + step(i & 7) + round) & 0xffff;
		h = mix(h, counter + buffer[i] + header_counter(i & 3));
	}
	return h;
}

uint64_t thread_state(int round)
{
	uint64_t h = 1;
	int i;

	for (i = 0; i < 40; i++) {
		local = (local * 5 + round + i) & 0xffff;
		shared_local += local & 15;
		h = mix(h, local + shared_local);
	}
	shared_local &= 0xffff;
	return h;
}

static const int sentinel = 0, other_sentinel = 0;

static NOINLINE const int *find(const int *list, int n, int key)
{
	int i;

	for (i = 0; i < n; i++) {
		if (list[i] == key)
			return &list[i];
		if (list[i] == key + 1)
			return &other_sentinel;
	}
	return &sentinel;
}

static int square(int n)
{
	int i, sum = 0;

	for (i = 0; i < n; i++)
		sum += n ^ i >> 1;
	return sum;
}

static int cube(int n)
{
	int i, sum = 0;

	for (i = 0; i < n; i++)
		sum += (n & i) * n;
	return sum;
}

int (*shared_function(int n))(int)
{
	return n & 1 ? square : cube;
}

static int (*remembered)(int) = square;

uint64_t identity(int round)
{
	int list[32], i, found = 0, same = 0;
	uint64_t h = 1;

	for (i = 0; i < 32; i++)
		list[i] = (i * 7919 + round) % 101;
	for (i = 0; i < 60; i++) {
		const int *p = find(list, 32, i);

		found += p == &sentinel ? 1 : p == &other_sentinel ? 100 : list[p - list];
		same += (remembered == square) + 2 * (shared_function(i) == cube);
		remembered = shared_function(i + round);
		h = mix(h, remembered(i & 15) + found + same);
	}
	return h;
}

static const char *kept, *kept_name;

NOINLINE const char *name_of(int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (shared_name[i & 3] == 'z')
			return "zed";
	return n & 1 ? "odd" : "even";
}

/* One evaluation of a literal gives the same object as the next. */
uint64_t literals(int round)
{
	const char *text = "unknown";
	uint64_t h = 1;
	int i, known = 0;

	for (i = 0; i < 30; i++) {
		known += kept == text;
		kept = "unknown";
		known += 2 * (kept_name == name_of(2)) + 4 * (name_of(i) == name_of(i + 2));
		kept_name = name_of(2);
		h = mix(h, known + shared_name[i & 3] + strlen(__func__));
	}
	(void)round;
	return round ? h : 0;
}

static NOINLINE int aliased(int n)
{
	int i, sum = 1;

	for (i = 0; i < n; i++)
		sum = sum * 3 + (i ^ counter);
	return sum & 0xffff;
}
int alias_of(int n) __attribute__((alias("aliased")));

__attribute__((weak, noinline)) int weak_one(int n)
{
	int i, sum = -1;

	for (i = 0; i < n; i++)
		sum -= i & n;
	return sum;
}

uint64_t aliases(int round)
{
	uint64_t h = 1;
	int i;

	for (i = 0; i < 20; i++) {
		h = mix(h, alias_of(i) + aliased(i + 1) + weak_one(i + (round & 3)));
		if (weak_other)
			h = mix(h, weak_other(i));
		h = mix(h, (alias_of == aliased) + 2 * (weak_other != 0));
	}
	return h;
}

int renamed_variable __asm__("other_variable") = 4;
NOINLINE int renamed_function(int n) __asm__("other_function");

int renamed_function(int n)
{
	int i;

	for (i = 0; i < n; i++)
		renamed_variable += (i ^ n) & 3;
	return renamed_variable &= 0xffff;
}

uint64_t renamed(int round)
{
	uint64_t h = 1;
	int i;

	for (i = 0; i < 20; i++)
		h = mix(h, renamed_function(i + (round & 1)));
	return h;
}
