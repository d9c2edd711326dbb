/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of every kind that an entry must not disturb; each callee has a loop, so that it has one. */
#include <complex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

struct big {
	long v[9];
};

struct pair {
	double x;
	long n;
};

static int calls;
static __thread int calls_here;
static const char *const words[] = {"one", "two", "three"};

NOINLINE long by_value(struct big a, int n, struct big b)
{
	long sum = 0;

	for (int i = 0; i < n; i++)
		sum += a.v[i % 9] * (i + 1) - b.v[i % 9];
	calls++;
	return sum;
}

NOINLINE struct big returned(int n)
{
	struct big r = {{0}};

	for (int i = 0; i < n; i++)
		r.v[i % 9] += i;
	return r;
}

NOINLINE struct pair in_registers(struct pair p, int n)
{
	for (int i = 0; i < n; i++) {
		p.x += i / 3.0;
		p.n += i;
	}
	return p;
}

NOINLINE _Complex long double complex_product(_Complex long double a, int n)
{
	_Complex long double r = 1;

	for (int i = 0; i < n; i++)
		r *= a;
	return r;
}

NOINLINE int variadic(const char *types, ...)
{
	va_list ap;
	double sum = 0;

	va_start(ap, types);
	for (; *types; types++)
		sum += *types == 'd' ? va_arg(ap, double) : va_arg(ap, int);
	va_end(ap);
	return (int)sum;
}

static NOINLINE int local_variadic(int n, ...)
{
	va_list ap;
	int sum = 0;

	va_start(ap, n);
	for (int i = 0; i < n; i++)
		sum += va_arg(ap, int);
	va_end(ap);
	return sum;
}

NOINLINE __attribute__((ms_abi)) long ms_abi(long a, long b, long c, long d, long e)
{
	for (int i = 0; i < 5; i++)
		a += b * c - d * e + i;
	return a;
}

NOINLINE __attribute__((regcall)) long regcall(long a, long b, long c, long d, long e, long f,
					       long g, long h)
{
	for (int i = 0; i < 5; i++)
		a += b * c - d * e + f * g - h;
	return a;
}

typedef double vec4 __attribute__((vector_size(32)));

NOINLINE __attribute__((target("avx"))) double vector_sum(vec4 *p, int n)
{
	vec4 sum = {0};

	for (int i = 0; i < n; i++)
		sum += p[i];
	return sum[0] + sum[1] + sum[2] + sum[3];
}

/* Threaded code: label addresses must stay those of the function that jumps through them. */
NOINLINE int interpret(const unsigned char *code)
{
	static const void *const ops[] = {&&add, &&sub, &&dbl, &&stop};
	int acc = 0;

	goto *ops[*code++];
add:
	acc += 3;
	goto *ops[*code++];
sub:
	acc -= 1;
	goto *ops[*code++];
dbl:
	acc *= 2;
	goto *ops[*code++];
stop:
	calls_here++;
	return acc;
}

__attribute__((weak)) int weak_default(int n)
{
	int x = 1;

	for (int i = 0; i < n; i++)
		x = x * 3 % 1000 + calls;
	return x;
}

__attribute__((weak)) int weak_overridden(int n);
int weak_alias(int n);

static jmp_buf jump;

static NOINLINE int long_jumper(int n)
{
	for (int i = 0; i < n; i++)
		if (i == 3)
			longjmp(jump, i + 1);
	return n;
}

NOINLINE int jumps(volatile int n)
{
	volatile int seen = 0;

	for (int i = 0; i < 3; i++) {
		int r = setjmp(jump);

		seen += r;
		if (!r)
			seen += long_jumper(n);
	}
	return seen;
}

static NOINLINE const char *word(int i)
{
	static int last = -1;
	int tries = 0;

	while (i == last && tries++ < 3)
		i = (i + 1) % 3;
	last = i;
	return words[i];
}

static int once(void)
{
	static int n;

	return n += 7;
}

int main(void)
{
	struct big a, b;
	struct pair p = in_registers((struct pair){1.5, 2}, 10);
	_Complex long double z = complex_product(1.0L + 0.5L * I, 7);
	vec4 v[3] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
	int (*pointer)(int) = weak_default;

	for (int i = 0; i < 9; i++) {
		a.v[i] = i * i;
		b.v[i] = 7 - i;
	}
	printf("%ld\n", by_value(a, 20, b));
	a = returned(100);
	printf("%ld %ld\n", a.v[0], a.v[8]);
	printf("%.17g %ld\n", p.x, p.n);
	printf("%.18Lg %.18Lg\n", creall(z), cimagl(z));
	printf("%d %d\n", variadic("idid", 1, 2.5, 3, 4.25), local_variadic(3, 1, 2, 3));
	printf("%ld %ld\n", ms_abi(1, 2, 3, 4, 5), regcall(1, 2, 3, 4, 5, 6, 7, 8));
	printf("%g\n", __builtin_cpu_supports("avx") ? vector_sum(v, 3) : 78.0);
	printf("%d\n", interpret((const unsigned char *)"\0\0\2\1\2\3"));
	printf("%d %d %d\n", weak_default(9), weak_overridden(5), weak_alias(5));
	printf("%d %d\n", pointer == weak_default, pointer(4));
	printf("%d %s %s %s\n", jumps(6), word(1), word(1), word(2));
	printf("%d %d %d %d\n", once(), once(), calls, calls_here);
	return 0;
}
