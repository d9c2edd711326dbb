// SPDX-License-Identifier: BSD-2-Clause
/* Functions whose stacks are hard to unwind. Called one after the other by run_cases(). */
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static volatile int sink;
static jmp_buf env;
/* Read by the stepper. */
void (*volatile longjmp_function)(jmp_buf, int) = longjmp;

NOINLINE static int leaf(int n)
{
	return n * 3 + sink;
}

NOINLINE static int deep(int n)
{
	return n ? deep(n - 1) + leaf(n) : leaf(0);
}

NOINLINE static int with_alloca(int n)
{
	char *p = alloca(n * 16 + 1);

	memset(p, n, n * 16 + 1);
	return p[n] + leaf(p[0]);
}

NOINLINE static int with_array(int n)
{
	int v[n + 1];

	for (int i = 0; i <= n; i++)
		v[i] = leaf(i);
	return v[n] + with_alloca(n);
}

/* Nothing is saved on the short way. */
NOINLINE static int shrink_wrapped(int a, int b, int c)
{
	int x, y, z;

	if (__builtin_expect(!a, 1))
		return b;
	x = leaf(a);
	y = leaf(b);
	z = leaf(c);
	return deep(3) + x * y + z + leaf(x + y + z);
}

/* Saved registers differ between ways. */
NOINLINE static int split(int n, int *v)
{
	int sum = 0;

	if (n < 2)
		return v[0];
	if (n < 4) {
		for (int i = 0; i < n; i++)
			sum += leaf(v[i]);
		return sum;
	}
	for (int i = 0; i < n; i++)
		sum += leaf(v[i]) * leaf(sum) + v[(i + 1) % n];
	return sum + split(n / 2, v) + split(n - n / 2 - 1, v);
}

NOINLINE static int tail_end(int a, int b, int c, int d, int e, int f)
{
	return leaf(a + b + c + d + e + f);
}

NOINLINE static int tail(int n)
{
	int x = leaf(n), y = leaf(x);

	return tail_end(x, y, n, 1, 2, 3);
}

/* The call is the function's last instruction: what it returns to is another function's. */
__attribute__((noreturn)) NOINLINE static void never(int n)
{
	sink = n;
	longjmp(env, 1);
}

NOINLINE static void ends_with_call(int n)
{
	if (n)
		never(leaf(n));
	never(2);
}

NOINLINE static int caught(int n)
{
	if (!setjmp(env))
		ends_with_call(n);
	return leaf(n);
}

NOINLINE static int realigned(int n)
{
	volatile char v[128] __attribute__((aligned(64)));

	v[n] = leaf(n);
	return v[n] + deep(2);
}

/* With both a dynamic area and alignment. */
NOINLINE static int realigned_dynamic(int n, int a, int b, int c, int d, int e, int f, int g)
{
	volatile char v[64] __attribute__((aligned(64)));
	char *p = alloca(n + 1);

	v[n & 63] = leaf(g);
	memset(p, a + b, n + 1);
	return v[n & 63] + p[n] + leaf(c + d + e + f) + with_array(2);
}

struct big {
	long v[20];
};

NOINLINE static struct big by_value(struct big b, int n)
{
	b.v[n] += leaf(n);
	return b;
}

NOINLINE static int many(int n, ...)
{
	va_list ap;
	int sum = 0;

	va_start(ap, n);
	while (n--)
		sum += leaf(va_arg(ap, int));
	va_end(ap);
	return sum;
}

static int compare(const void *a, const void *b)
{
	return leaf(*(const int *)a) - leaf(*(const int *)b);
}

NOINLINE static int through_library(void)
{
	int v[12] = {5, 3, 8, 1, 9, 2, 7, 4, 6, 0, 11, 10};
	char text[64];

	qsort(v, 12, sizeof(v[0]), compare);
	snprintf(text, sizeof(text), "%d %s %.3f", v[3], "text", v[2] / 7.0);
	return v[0] + (int)strlen(text);
}

static void on_signal(int sig)
{
	sink = leaf(sig);
}

NOINLINE static int with_signals(void)
{
	static char other[65536];
	stack_t alt = {.ss_sp = other, .ss_size = sizeof(other)};
	struct sigaction sa = {.sa_handler = on_signal};

	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
	sigaltstack(&alt, NULL);
	sa.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &sa, NULL);
	raise(SIGUSR2);
	return sink;
}

/* Not clock_gettime(): stepped, it would start anew at each tick of the clock. */
NOINLINE static int in_vdso(void)
{
	return leaf(3) + (int)(time(NULL) & 1);
}

typedef int (*fn)(int);

NOINLINE static int indirect(fn f, int n)
{
	return f(n) + f(n + 1);
}

__attribute__((cold)) NOINLINE static int cold(int n)
{
	return deep(2) + leaf(n);
}

NOINLINE static int hot_and_cold(int n)
{
	int x = leaf(n);

	if (__builtin_expect(n > 3, 0))
		return cold(x) + cold(n) + leaf(x);
	return x;
}

NOINLINE int run_cases(void)
{
	int v[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, sum = 0;
	struct big b = {{1}};

	sum += deep(20);
	sum += with_array(5);
	sum += shrink_wrapped(0, 1, 2) + shrink_wrapped(1, 2, 3);
	sum += split(9, v);
	sum += tail(4);
	sum += caught(0) + caught(1);
	sum += realigned(7);
	sum += realigned_dynamic(9, 1, 2, 3, 4, 5, 6, 7);
	b = by_value(b, 3);
	sum += b.v[3];
	sum += many(5, 1, 2, 3, 4, 5);
	sum += through_library();
	sum += with_signals();
	sum += in_vdso();
	sum += indirect(leaf, 3) + indirect(tail, 2);
	sum += hot_and_cold(1) + hot_and_cold(9);
	return sum;
}

int main(void)
{
	return run_cases() == 12345678;
}
