// SPDX-License-Identifier: BSD-2-Clause
/* Ways to get from one function into another. */
#include <setjmp.h>
#include <stdlib.h>

#include "sem.h"

/* Each has to find the other one in its own image. */
static SEM_NOINLINE long fib_right(int n);

SEM_NOINLINE long fib_left(int n)
{
	long sum = 0;

	SEM_HERE("fib_left");
	for (; n > 1; n -= 2)
		sum += fib_right(n - 1);
	return sum + n;
}

static SEM_NOINLINE long fib_right(int n)
{
	long sum = 0;

	SEM_HERE("fib_right");
	while (n > 1) {
		sum += fib_left(n - 1);
		n -= 2;
	}
	return sum + n;
}

static SEM_NOINLINE long ackermann(long m, long n)
{
	SEM_HERE("ackermann");
	while (m) {
		n = n ? ackermann(m, n - 1) : 1;
		m--;
	}
	return n + 1;
}

SEM_CASE(recursion)
{
	sem_print("  %ld %ld %ld\n", fib_left(12), fib_right(11), ackermann(2, 5));
}

static SEM_NOINLINE long collatz_odd(unsigned long n, long steps);

static SEM_NOINLINE long collatz_even(unsigned long n, long steps)
{
	SEM_HERE("collatz_even");
	while (n && !(n & 1)) {
		n >>= 1;
		steps++;
	}
	return n <= 1 ? steps : collatz_odd(n, steps);
}

static SEM_NOINLINE long collatz_odd(unsigned long n, long steps)
{
	SEM_HERE("collatz_odd");
	while (n & 1 && n > 1) {
		n = 3 * n + 1;
		steps++;
	}
	return collatz_even(n, steps);
}

/* The stack must not grow: far more calls than it has room for. */
SEM_NOINLINE long must_odd(long n, long sum, const int *table);

SEM_NOINLINE long must_even(long n, long sum, const int *table)
{
	int i;

	for (i = 0; i < 4; i++)
		sum += table[(n + i) & 7] ^ i;
	if (n % 4096 == 0)
		SEM_HERE("must_even");
	if (n <= 0)
		return sum;
	__attribute__((musttail)) return must_odd(n - 1, sum, table);
}

SEM_NOINLINE long must_odd(long n, long sum, const int *table)
{
	int i;

	for (i = 0; i < 4; i++)
		sum -= table[(n ^ i) & 7] * i;
	if (n % 4096 == 1)
		SEM_HERE("must_odd");
	__attribute__((musttail)) return must_even(n - 1, sum, table);
}

/* An interpreter of tail calls through a table. */
struct machine {
	long a, b;
	int steps;
};
typedef long handler(struct machine *m, const unsigned char *pc, long acc);
static handler op_add, op_mul, op_end;
static handler *const handlers[] = {op_add, op_mul, op_end};

static SEM_NOINLINE long op_add(struct machine *m, const unsigned char *pc, long acc)
{
	int i;

	SEM_HERE("op_add");
	for (i = 0; i < 3; i++)
		acc += m->a ^ i;
	m->steps++;
	__attribute__((musttail)) return handlers[pc[1]](m, pc + 1, acc);
}

static SEM_NOINLINE long op_mul(struct machine *m, const unsigned char *pc, long acc)
{
	int i;

	SEM_HERE("op_mul");
	for (i = 0; i < 3; i++)
		acc = acc * 3 + (m->b & i);
	m->steps++;
	__attribute__((musttail)) return handlers[pc[1]](m, pc + 1, acc & 0xffffff);
}

static SEM_NOINLINE long op_end(struct machine *m, const unsigned char *pc, long acc)
{
	long i;

	SEM_HERE("op_end");
	for (i = 0; i < m->steps; i++)
		acc ^= i * pc[0];
	return acc;
}

SEM_CASE(tail_calls)
{
	static const unsigned char code[] = {0, 1, 0, 0, 1, 1, 0, 1, 0, 2};
	static const int table[] = {3, 1, 4, 1, 5, 9, 2, 6};
	struct machine m = {7, 11, 0};
	long sum = 0;
	int i;

	for (i = 1; i < 60; i++)
		sum += collatz_even(i, 0) * i;
	sem_print("  %ld\n", sum);
	sem_print("  %ld\n", must_even(1 << 14, 0, table));
	for (i = 0; i < 20; i++)
		sum += handlers[code[0]](&m, code, i);
	sem_print("  %ld %d\n", sum, m.steps);
}

static jmp_buf env;
static sigjmp_buf env_signals;

static SEM_NOINLINE long dive(int depth, int n)
{
	long sum = 0;
	int i;

	SEM_HERE("dive");
	for (i = 0; i < depth; i++)
		sum += i ^ n;
	if (depth > n)
		longjmp(env, depth + (int)(sum & 1));
	return depth == 1000 ? sum : dive(depth + 1, n) + sum;
}

/* What was set in a caller's version, and changed since. */
static SEM_NOINLINE long set_and_dive(int n)
{
	volatile long kept = 0;
	volatile int i;
	int got;

	SEM_HERE("set_and_dive");
	for (i = 0; i < n; i++) {
		got = setjmp(env);
		if (!got)
			dive(1, 2 + i % 5);
		kept = kept * 3 + got + i;
	}
	return kept;
}

/* A function that calls setjmp() has no slot, yet runs in the variant of its caller. */
static SEM_NOINLINE long drive_jumps(int n)
{
	long sum = 0;
	int i;

	SEM_HERE("drive_jumps");
	for (i = 1; i < n; i++)
		sum = (long)sem_mix(sum, set_and_dive(i));
	return sum;
}

static long through_plain(void *arg)
{
	long sum = (long)sem_work(*(int *)arg);

	SEM_HERE("through_plain");
	if (sem_few)
		siglongjmp(env_signals, 1);
	return sum;
}

static SEM_NOINLINE long jump_over_plain(int n)
{
	volatile long kept = n;
	int i;

	if (sigsetjmp(env_signals, 1))
		return kept;
	SEM_HERE("jump_over_plain");
	for (i = 0; i < n; i++)
		kept += i;
	return sem_call(through_plain, &n);
}

static SEM_NOINLINE long drive_over_plain(int n)
{
	long sum = 0;
	int i;

	SEM_HERE("drive_over_plain");
	for (i = 1; i < n; i++)
		sum = (long)sem_mix(sum, jump_over_plain(i));
	return sum;
}

SEM_CASE(long_jumps)
{
	sem_print("  %lx %lx\n", drive_jumps(9), drive_over_plain(5));
}

static SEM_NOINLINE int compare(const void *a, const void *b)
{
	const int *x = a, *y = b;
	long x_work = (long)(sem_work(*x) & 7), y_work = (long)(sem_work(*y) & 7);

	SEM_HERE("compare");
	return x_work == y_work ? *x - *y : (int)(x_work - y_work);
}

static SEM_NOINLINE long sort(int *list, int n)
{
	long h = 1;
	int i;

	SEM_HERE("sort");
	for (i = 0; i < n; i++)
		list[i] = (i * 7919 + n) % 211;
	qsort(list, n, sizeof(*list), compare);
	for (i = 0; i < n; i++)
		h = (long)sem_mix(h, list[i]);
	return h;
}

/* Through code that is never switched: qsort(), and a function of the program that has no bitcode. */
SEM_CASE(callbacks)
{
	int list[40];

	sem_print("  %lx\n", sort(list, 40));
}
