// SPDX-License-Identifier: BSD-2-Clause
/* Arithmetic that other instructions, other passes or other calls could make to give other results. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "sem.h"

/* Not known to the compiler, but always the same. */
static volatile double hidden = 0.1;

static inline double contract(double a, double b, double c)
{
	return a * b + c;
}

/* As constants: folded in one rounding or in two. */
static SEM_NOINLINE double constant_fma(int n)
{
	double sum = 0;
	int i;

	SEM_MAYBE("constant_fma");
	for (i = 0; i < n; i++)
		sum += contract(0.1, 10, -1) * 0x1p60 + i;
	return sum;
}

SEM_NOINLINE double scale(double a, double b, double c, int n)
{
	double sum = 0;
	int i;

	SEM_HERE("scale");
	for (i = 0; i < n; i++)
		sum += a * b + c;
	return sum;
}

/* Arguments that only a variant sees to be constants: its section has the callee inline. */
static SEM_NOINLINE double newly_constant(int n)
{
	double sum = 0;
	int i;

	SEM_MAYBE("newly_constant");
	for (i = 0; i < n; i++)
		sum += scale(0.1, 10, -1, i & 3) * 0x1p60;
	return sum;
}

static SEM_NOINLINE double variable_fma(const double *a, const double *b, int n)
{
	double sum = 0;
	int i;

	SEM_HERE("variable_fma");
	for (i = 0; i < n; i++)
		sum = sum * a[i] + b[n - 1 - i];
	return sum;
}

static SEM_NOINLINE double reduce(const double *a, int n)
{
	double sum = 0;
	int i;

	SEM_HERE("reduce");
	for (i = 0; i < n; i++)
		sum += a[i];
	return sum;
}

SEM_CASE(fused)
{
	double a[100], b[100];
	int i;

	for (i = 0; i < 100; i++) {
		a[i] = hidden * (i + 1);
		b[i] = 1 / (hidden + i);
	}
	sem_print("  %a %a\n", constant_fma(10), newly_constant(10));
	sem_print("  %a %a\n", variable_fma(a, b, 100), reduce(a, 100));
}

/*
 * Undefined where the value does not fit, and common all the same. Loops that the shipped build
 * vectorizes give what depends on the place in the list, so none of these is.
 */
static SEM_NOINLINE uint64_t to_unsigned(const double *from, int n)
{
	uint64_t h = 1;
	int i;

	SEM_HERE("to_unsigned");
#pragma clang loop vectorize(disable) interleave(disable)
	for (i = 0; i < n; i++) {
		h = sem_mix(h, (uint32_t)from[i]);
		h = sem_mix(h, (uint64_t)from[i]);
		h = sem_mix(h, (uint32_t)(float)from[i]);
		h = sem_mix(h, (uint64_t)(float)from[i]);
	}
	return h;
}

static SEM_NOINLINE uint64_t to_signed(const double *from, int n)
{
	uint64_t h = 1;
	int i;

	SEM_HERE("to_signed");
#pragma clang loop vectorize(disable) interleave(disable)
	for (i = 0; i < n; i++) {
		h = sem_mix(h, (uint64_t)(int64_t)from[i]);
		h = sem_mix(h, (uint64_t)(int32_t)from[i]);
		h = sem_mix(h, (uint64_t)(short)from[i]);
	}
	return h;
}

/* In lists of 8-bit and 16-bit elements. */
static SEM_NOINLINE void to_narrow(uint8_t *to8, uint16_t *to16, const float *from, int n)
{
	int i;

	SEM_HERE("to_narrow");
#pragma clang loop vectorize(disable) interleave(disable)
	for (i = 0; i < n; i++) {
		to8[i] = (uint8_t)(int)from[i];
		to16[i] = (uint16_t)(int)from[i];
	}
}

SEM_CASE(conversions)
{
	/* Visible constants that do not fit would be anything. */
	static volatile double given[] = {
		0,     -1,   -0.5,   1.5,    255.5, 256,   65536.25, -65536.25,	   2e9, 3e9,
		4.3e9, -3e9, 9.3e18, 1.9e19, -1e19, 1e300, -1e300,   4294967295.5, 0.1, 7};
	enum {
		N = sizeof(given) / sizeof(given[0])
	};
	double from[N];
	uint8_t to8[N];
	uint16_t to16[N];
	float floats[N];
	uint64_t h = 1;
	int i;

	for (i = 0; i < N; i++) {
		from[i] = given[i];
		floats[i] = (float)from[i];
	}
	sem_print("  %lx %lx\n", to_unsigned(from, N), to_signed(from, N));
	to_narrow(to8, to16, floats, N);
	for (i = 0; i < N; i++)
		h = sem_mix(h, to8[i] + ((uint64_t)to16[i] << 8));
	sem_print("  %lx\n", h);
}

static SEM_NOINLINE double rounded(const double *a, int n)
{
	double sum = 0;
	int i;

	SEM_HERE("rounded");
	for (i = 0; i < n; i++)
		sum = sum * 3 + floor(a[i]) + ceil(a[i]) * 5 + trunc(a[i]) * 7 + rint(a[i]) * 11 +
		      nearbyint(a[i]) * 13 + round(a[i]) * 17 + sqrt(fabs(a[i])) +
		      floorf((float)a[i]);
	return sum;
}

static SEM_NOINLINE double library(const double *a, int n)
{
	double sum = 0;
	int i;

	SEM_HERE("library");
	for (i = 0; i < n; i++)
		sum += pow(a[i], 2) + pow(fabs(a[i]), 0.5) + exp(a[i] * 0.01) +
		       sin(a[i]) * cos(a[i]) + fmod(a[i], 3) + ldexp(a[i], i & 7) + sin(0.5) +
		       log(3.0) + exp2((double)(i & 7)) + copysign(1, a[i]) + fmin(a[i], 2) +
		       fmax(a[i], 3) + hypot(a[i], 4);
	return sum;
}

/* Signs of what is not a number, and of zero. */
static SEM_NOINLINE uint64_t special(const double *a, int n)
{
	uint64_t h = 1;
	int i;

	SEM_HERE("special");
	for (i = 0; i < n; i++) {
		h = sem_mix(h, a[i] * 0 == 0);
		h = sem_mix(h, signbit(-a[i] + 0.0) != 0);
		h = sem_mix(h, signbit(a[i] * -0.0) != 0);
		h = sem_mix(h, isnan(a[i] - a[i]) + 2 * (a[i] != a[i]) + 4 * (a[i] < 1) +
				       8 * !(a[i] >= 1));
		h = sem_mix(h, (uint64_t)(a[i] > 0 ? 1 : a[i] < 0 ? 2 : 3));
	}
	return h;
}

SEM_CASE(floating)
{
	double a[24], b[] = {0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 1e-310, 1e308};
	int i;

	for (i = 0; i < 24; i++)
		a[i] = (i - 12) * (hidden + 0.4);
	sem_print("  %a %a %lx\n", rounded(a, 24), library(a, 24), special(b, 9));
}

/* Loops that become calls of the C library's functions, and what the compiler's own library has. */
static SEM_NOINLINE uint64_t idioms(unsigned char *to, const unsigned char *from, int n)
{
	uint64_t h = 1;
	int i;

	SEM_HERE("idioms");
	for (i = 0; i < n; i++)
		to[i] = 0;
	for (i = 0; i < n; i++)
		h = sem_mix(h, to[i]);
	for (i = 0; i < n; i++)
		to[i] = from[i];
	for (i = 0; i < n && to[i] == from[i]; i++)
		;
	h = sem_mix(h, i);
	for (i = 0; to[i]; i++)
		;
	h = sem_mix(h, i);
	h = sem_mix(h, memcmp(to, from, n) == 0);
	for (i = 0; i < n; i++)
		h = sem_mix(h, to[i]);
	return h;
}

static SEM_NOINLINE uint64_t wide(uint64_t seed, int n)
{
	unsigned __int128 a = seed, b = 0x123456789abcdefULL;
	__int128 c = -(__int128)seed;
	int i;

	SEM_HERE("wide");
	for (i = 0; i < n; i++) {
		a = a * b + i;
		b = (b ^ (a >> 60)) | 1;
		c = c * 3 - (__int128)(a / b) + (__int128)(a % b) / (c | 1);
	}
	return sem_mix((uint64_t)(a ^ (a >> 64)), (uint64_t)c) + (uint64_t)(double)(a >> 70);
}

static SEM_NOINLINE uint64_t bits(uint64_t a, int n)
{
	uint64_t h = 1;
	int i;

	SEM_HERE("bits");
	for (i = 0; i < n; i++) {
		a = a * 6364136223846793005ULL + 1442695040888963407ULL;
		h = sem_mix(h, __builtin_popcountll(a) + __builtin_clzll(a | 1) * 64 +
				       __builtin_ctzll(a | 1UL << 63) * 4096 +
				       __builtin_parityll(a));
		h = sem_mix(h, __builtin_bswap64(a) ^ (a << (i & 63) | a >> (-i & 63)));
		h = sem_mix(h, 1u << (a & 31));
	}
	return h;
}

SEM_CASE(library_calls)
{
	static const unsigned char from[64] =
		"some text that is copied and compared, not a long one";
	unsigned char to[64];

	sem_print("  %lx %lx %lx\n", idioms(to, from, 60), wide(0x9876543210ULL, 20), bits(7, 50));
}

/* Constants with addresses in them, which differ from process to process. */
static SEM_NOINLINE int op_a(int n)
{
	return n + 1;
}
static SEM_NOINLINE int op_b(int n)
{
	return n * 3;
}
static SEM_NOINLINE int op_c(int n)
{
	return n ^ 21;
}

static int (*const ops[])(int) = {op_a, op_b, op_c, op_b};
static const struct {
	const char *name;
	int (*fn)(int);
	const int *data;
} rows[] = {{"first", op_a, (const int[]){1, 2}}, {"second", op_c, (const int[]){3, 4}}};
static const char *const names[] = {"zero", "one", "two", "three", "four", "five", "six"};

static SEM_NOINLINE const char *name_of(int n)
{
	switch (n) {
	case 0:
		return "none";
	case 1:
		return "single";
	case 2:
		return "double";
	case 3:
		return "triple";
	case 4:
		return "quadruple";
	default:
		return "many";
	}
}

static SEM_NOINLINE uint64_t tables(int n)
{
	uint64_t h = 1;
	int i, a = n;

	SEM_HERE("tables");
	for (i = 0; i < n; i++) {
		a = ops[i & 3](a) & 0xffff;
		h = sem_mix(h, a + rows[i & 1].fn(i) + rows[i & 1].data[i >> 1 & 1]);
		h = sem_mix(h, strlen(names[i % 7]) + names[a % 7][0] + rows[i & 1].name[2]);
		h = sem_mix(h, name_of(i % 6)[0]);
	}
	return h;
}

SEM_CASE(pointer_tables)
{
	sem_print("  %lx\n", tables(60));
}
