// SPDX-License-Identifier: BSD-2-Clause
/*
 * How arguments and results are passed: functions that are local to their unit, of which -O2 makes
 * others (fastcc, fewer arguments, values instead of pointers), and all that the ABI has for values.
 */
#include <complex.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sem.h"

struct pair {
	long a, b;
};

/* Promoted to a value. */
static SEM_NOINLINE long sum_by_pointer(const long *from, const struct pair *step, int n)
{
	long sum = 0;
	int i;

	SEM_HERE("sum_by_pointer");
	for (i = 0; i < n; i++)
		sum += *from + i * step->a - step->b;
	return sum;
}

/* One argument is never used. */
static SEM_NOINLINE long ignore_one(int used, const char *unused, int n)
{
	long sum = used;
	int i;

	(void)unused;
	SEM_HERE("ignore_one");
	for (i = 0; i < n; i++)
		sum = sum * 31 + (i ^ n);
	return sum;
}

/* Its result is not looked at by anybody. */
static SEM_NOINLINE int fill(long *list, int n, long seed)
{
	int i;

	SEM_HERE("fill");
	for (i = 0; i < n; i++)
		list[i] = (seed = seed * 1103515245 + 12345) >> 16 & 0xffff;
	return n * 2;
}

/* More arguments than registers, of both kinds. */
static SEM_NOINLINE double many(int a, double b, long c, float d, short e, double f, char g,
				double h, long i, double j, int k, double l, long m, double n,
				double o, double p, double q, unsigned char r)
{
	double sum = 0;
	int x;

	SEM_HERE("many");
	for (x = 0; x < (a & 7); x++)
		sum = sum * 0.5 + b + (double)c + d + e + f + g + h + (double)i + j + k + l +
		      (double)m + n + o * x + p + q + r;
	return sum;
}

SEM_CASE(many_arguments)
{
	double d = 0;
	int i;

	for (i = 1; i < 20; i++)
		d += many(i, 1.5, i, 2.5f, (short)-i, 3.5, 'c', 4.5, -i, 5.5, 6, 7.5, 8, 9.5, 10.5,
			  11.5, 12.5, 250);
	sem_print("  %a\n", d);
}

SEM_CASE(local_functions)
{
	long list[33], sum = 0;
	struct pair step = {3, 5};
	int i;

	for (i = 1; i < 20; i++) {
		long from = i * 7;

		fill(list, 33, i);
		sum += sum_by_pointer(&from, &step, i + 1) + sum_by_pointer(&list[i], &step, 3);
		sum ^= ignore_one(i, "never read", i) + ignore_one(i + 1, NULL, 2);
	}
	sem_print("  %ld\n", sum);
}

struct tiny {
	char c[3];
};
struct floats {
	float x, y, z;
};
struct mixed {
	double d;
	int i;
};
struct large {
	long v[9];
};
struct with_long_double {
	long double l;
	int i;
};
union either {
	long l;
	double d;
};

static SEM_NOINLINE struct tiny turn_tiny(struct tiny t, int n)
{
	SEM_HERE("turn_tiny");
	while (n--) {
		char c = t.c[0];

		t.c[0] = t.c[1];
		t.c[1] = (char)(t.c[2] + n);
		t.c[2] = c;
	}
	return t;
}

SEM_NOINLINE struct floats turn_floats(struct floats f, int n)
{
	SEM_HERE("turn_floats");
	while (n--)
		f = (struct floats){f.y + 1, f.z * 0.5f, f.x};
	return f;
}

SEM_NOINLINE struct mixed turn_mixed(struct mixed m, struct large l, union either e, int n)
{
	SEM_HERE("turn_mixed");
	while (n--) {
		m.i ^= (int)l.v[n % 9];
		m.d = m.d * 0.25 + m.i;
		l.v[n % 9] += e.l;
	}
	m.i += (int)l.v[3];
	return m;
}

SEM_NOINLINE struct large turn_large(struct large l, int n)
{
	struct large out;
	int i;

	SEM_HERE("turn_large");
	for (i = 0; i < 9; i++)
		out.v[i] = l.v[(i + n) % 9] * 3 + n;
	return out;
}

SEM_NOINLINE struct with_long_double turn_extended(struct with_long_double w, long double by, int n)
{
	SEM_HERE("turn_extended");
	while (n--) {
		w.l = w.l / 3 + by;
		w.i += (int)w.l;
	}
	return w;
}

SEM_NOINLINE double complex turn_complex(double complex z, float complex f, int n)
{
	SEM_HERE("turn_complex");
	while (n--)
		z = z + f * 0.5f - conj(z) * I;
	return z;
}

SEM_NOINLINE __int128 turn_wide(__int128 a, unsigned __int128 b, int n)
{
	SEM_HERE("turn_wide");
	while (n--)
		a = (a << 5) + (__int128)(b / (unsigned int)(n + 3)) - a % (n + 7);
	return a;
}

SEM_CASE(by_value)
{
	struct tiny t = {{1, 2, 3}};
	struct floats f = {1, 2, 3};
	struct mixed m = {1.5, 7};
	struct large l = {{1, 2, 3, 4, 5, 6, 7, 8, 9}};
	struct with_long_double w = {1.25L, 3};
	union either e = {.l = 17};
	double complex z = 1 + 2 * I;
	__int128 wide = 12345;
	int i;

	for (i = 1; i < 12; i++) {
		t = turn_tiny(t, i);
		f = turn_floats(f, i);
		m = turn_mixed(m, l, e, i);
		l = turn_large(l, i);
		w = turn_extended(w, 0.1L * i, i);
		z = turn_complex(z, 0.5f * i, 3);
		wide = turn_wide(wide, (unsigned __int128)l.v[i % 9] << 70, i);
		l.v[0] &= 0xffff;
	}
	sem_print("  %d %d %d %a %a %a %d %ld %La %d %a %a %lx %lx\n", t.c[0], t.c[1], t.c[2],
		  (double)f.x, (double)f.y, m.d, m.i, l.v[8], w.l, w.i, creal(z), cimag(z),
		  (long)wide, (long)(wide >> 64));
}

static SEM_NOINLINE long add_list(const char *types, va_list ap)
{
	long sum = 0;

	SEM_HERE("add_list");
	for (; *types; types++) {
		switch (*types) {
		case 'i':
			sum = sum * 3 + va_arg(ap, int);
			break;
		case 'l':
			sum = sum * 5 + va_arg(ap, long);
			break;
		case 'd':
			sum = sum * 7 + (long)(va_arg(ap, double) * 8);
			break;
		case 'L':
			sum = sum * 11 + (long)(va_arg(ap, long double) * 16);
			break;
		case 's':
			sum = sum * 13 + (long)strlen(va_arg(ap, const char *));
			break;
		case 'g':
			sum = sum * 17 + va_arg(ap, struct large).v[4];
			break;
		}
	}
	return sum;
}

SEM_NOINLINE long add_all(const char *types, ...)
{
	va_list ap, again;
	long sum;
	int i;

	SEM_HERE("add_all");
	va_start(ap, types);
	va_copy(again, ap);
	sum = add_list(types, ap) ^ add_list(types, again);
	va_end(again);
	for (i = 0; types[i]; i++)
		sum += i * types[i];
	va_end(ap);
	return sum;
}

SEM_CASE(variadic)
{
	struct large l = {{1, 2, 3, 4, 5, 6, 7, 8, 9}};
	long sum = 0;
	int i;

	for (i = 0; i < 10; i++) {
		l.v[4] = i;
		sum += add_all("ildLsg", i, (long)i << 33, i * 1.5, (long double)i / 4, "text", l);
		sum += add_all("iiiiiiii", 1, 2, 3, 4, 5, 6, 7, i);
		sum += add_all("dddddddddddd", 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11.,
			       i * 1.);
	}
	sem_print("  %ld\n", sum);
}

static SEM_NOINLINE unsigned long scribble(unsigned char *at, unsigned long n, int seed)
{
	unsigned long h = 1, i;

	SEM_HERE("scribble");
	for (i = 0; i < n; i++)
		at[i] = (unsigned char)(i * seed + 1);
	for (i = 0; i < n; i++)
		h = sem_mix(h, at[n - 1 - i]);
	return h;
}

SEM_NOINLINE unsigned long on_the_stack(int n)
{
	unsigned long h = 1;
	int i;

	SEM_HERE("on_the_stack");
	for (i = 1; i < n; i++) {
		unsigned char *more = __builtin_alloca(16 * i);
		int vla[i][n];

		vla[i - 1][n - 1] = i;
		h = sem_mix(h, scribble(more, 16 * i, i));
		h = sem_mix(h, scribble((unsigned char *)vla, sizeof(vla) - sizeof(int), n));
		h = sem_mix(h, vla[i - 1][n - 1]);
	}
	return h;
}

SEM_CASE(stack_arrays)
{
	sem_print("  %lx %lx\n", on_the_stack(5), on_the_stack(14));
}
