// SPDX-License-Identifier: BSD-2-Clause
/* Arithmetic that other instructions, widths or orders would do otherwise. */
#include <complex.h>
#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "torture.h"

#define NOINLINE __attribute__((noinline))

static uint64_t bits(double d)
{
	uint64_t u;

	memcpy(&u, &d, sizeof(u));
	return u;
}

uint64_t wide_integers(int round)
{
	__int128 a = (__int128)round << 70 | 12345, b = 0x123456789abcdefLL;
	unsigned __int128 u = ~(unsigned __int128)0 / (round + 1);
	uint64_t h = 1;
	int i;

	for (i = 1; i < 30; i++) {
		a = a * 31 + b / i - (a >> (i & 127)) + a % (b + i);
		u = u / (i + 3) + (u << (i & 63));
		b += (int64_t)(double)a & 0xffff;
		h = mix(h, (uint64_t)a ^ (uint64_t)(a >> 64) ^ (uint64_t)(u >> 32));
	}
	return h;
}

uint64_t long_doubles(int round)
{
	long double a = 1.0L / (round + 1), sum = 0;
	uint64_t h = 1;
	int i;

	for (i = 1; i < 40; i++) {
		sum += a / i * (i & 1 ? 1 : -0.5L);
		h = mix(h, (uint64_t)(sum * 0x1p60L) ^ (uint64_t)fabsl(sqrtl(sum * sum) * 1e9L));
	}
	return h;
}

/* Cases have a parameter of that name. */
static double round_half(double d)
{
	return round(d);
}

static double doubles[67];
static float floats[67];
static unsigned int words[67];
static uint64_t longs[67];
static unsigned short shorts[67];
static unsigned char bytes[67];
static signed char signed_bytes[67];

static NOINLINE void convert(int n)
{
	int i;

	for (i = 0; i < n; i++)
		words[i] = (unsigned int)doubles[i];
	for (i = 0; i < n; i++)
		longs[i] = (uint64_t)doubles[i];
	for (i = 0; i < n; i++)
		longs[i] += (unsigned int)floats[i];
}

/* Undefined where they do not fit, and yet everywhere. */
uint64_t conversions(int round)
{
	uint64_t h = 1;
	int i;

	for (i = 0; i < 67; i++) {
		doubles[i] = (i - 20) * 1e9 * (round % 5 + 1) + 0.7;
		floats[i] = (float)((i - 30) * 3e8);
	}
	convert(67 - round % 9);
	for (i = 0; i < 67; i++)
		h = mix(h, words[i] + longs[i]);
	return h;
}

static NOINLINE void convert_narrow(int n)
{
	int i;

	for (i = 0; i < n; i++)
		shorts[i] = (unsigned short)floats[i];
	for (i = 0; i < n; i++)
		bytes[i] = (unsigned char)floats[i];
	for (i = 0; i < n; i++)
		signed_bytes[i] = (signed char)doubles[i];
}

uint64_t narrow(int round)
{
	uint64_t h = 1;
	int i;

	for (i = 0; i < 67; i++) {
		floats[i] = (float)(i * (round % 2000 + 1) - 300) * 1.25f;
		doubles[i] = (i - 33) * 11.0 * (round % 300);
	}
	convert_narrow(67 - round % 9);
	for (i = 0; i < 67; i++)
		h = mix(h, shorts[i] + 3 * bytes[i] + 5 * signed_bytes[i]);
	return h;
}

static NOINLINE void shift(int n)
{
	int i;

	for (i = 0; i < n; i++)
		words[i] = (unsigned int)i * 2654435761u << bytes[i];
	for (i = 0; i < n; i++)
		longs[i] = (uint64_t)words[i] * 2654435761u >> bytes[i];
	for (i = 0; i < n; i++)
		words[i] = words[i] << bytes[i] | words[i] >> (32 - bytes[i]);
}

/* The same with amounts. */
uint64_t shifts(int round)
{
	uint64_t h = 1;
	int i;

	for (i = 0; i < 67; i++)
		bytes[i] = (unsigned char)((i * 7 + round) % 75);
	shift(67 - round % 9);
	for (i = 0; i < 67; i++)
		h = mix(h, words[i] + longs[i]);
	return h;
}

uint64_t contraction(int round)
{
	double a = 1.0 / (round + 3), sum = 0, product = 0.1 * 10 - 1;
	float f = 1.0f / (float)(round + 7), g = 0.3f;
	uint64_t h = bits(product);
	int i;

	for (i = 0; i < 67; i++) {
		doubles[i] = a * i + 0.1;
		sum = sum * a - doubles[i] * doubles[66 - i];
		g = g * f + 0.7f * g;
		a = a * 1.0000001 - 1e-9;
	}
	for (i = 0; i < 67; i++)
		h = mix(h, bits(doubles[i] * sum + a));
	return mix(h, bits(sum) ^ bits(g));
}

uint64_t math_errno(int round)
{
	uint64_t h = 1;
	double d;
	int i;

	for (i = 0; i < 10; i++) {
		errno = 0;
		d = sqrt((double)(i - 5) * (round + 1));
		h = mix(h, errno + (isnan(d) ? 7 : bits(d)));
		errno = 0;
		d = pow(0.0, i - 5) + log(i - 3) + fmod(round, i - 1);
		h = mix(h, errno + (isnan(d) ? 7 : bits(d)));
		errno = 0;
		d = exp(i * 200.0) + ldexp(1, i * 300);
		h = mix(h, errno + bits(d));
	}
	errno = 0;
	return h;
}

uint64_t rounding(int round)
{
	static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
	uint64_t h = 1;
	int i;

	for (i = 0; i < 24; i++) {
		volatile double d = (i - 12) * 0.5 + round % 3 * 0.25, rounded;
		volatile long whole;

		/* What is not stored in between may be computed behind the change back. */
		fesetround(modes[i & 3]);
		rounded = rint(d) * 4 + nearbyint(d);
		whole = lrint(d);
		fesetround(FE_TONEAREST);
		h = mix(h, (uint64_t)(int64_t)rounded + (uint64_t)whole);
		h = mix(h,
			(uint64_t)(int64_t)(floor(d) + ceil(d) * 3 + trunc(d) * 5 + round_half(d)));
	}
	return h;
}

uint64_t complexes(int round)
{
	double _Complex z = 0, c = 0.3 + round % 10 * 0.01 * I;
	long double _Complex w = 1;
	float _Complex f = 1.5f;
	uint64_t h = 1;
	int i;

	for (i = 0; i < 20; i++) {
		z = z * z + c / (1 + z);
		w = w / (2 + I) + z;
		f = f * (float _Complex)c - f / (2.0f + 1.0f * I);
		h = mix(h,
			bits(creal(z)) ^ bits(cimag(z)) ^ (uint64_t)(int64_t)(creall(w) * 1e15L));
		h = mix(h, bits(crealf(f)) ^ bits(cabs(z)));
	}
	return h;
}

uint64_t halves(int round)
{
	_Float16 a = (_Float16)(round % 100 * 0.1), sum = 0;
	uint64_t h = 1;
	int i;

	for (i = 0; i < 30; i++) {
		sum = (_Float16)(sum + a * (_Float16)i);
		a = (_Float16)((float)a * 0.93f + (float)sum * 1e-3f);
		h = mix(h, bits(sum) ^ bits(a));
	}
	return h;
}

uint64_t library_loops(int round)
{
	char text[128], copy[128];
	uint64_t h = 1;
	int i, n = 30 + round % 90;
	const char *c;

	for (i = 0; i < n; i++)
		text[i] = (char)('a' + (i * 7 + round) % 26);
	text[n] = 0;
	for (i = 0; i < 128; i++)
		copy[i] = 0;
	for (i = 0; i <= n; i++)
		copy[i] = text[i];
	for (i = n; i > 0; i--)
		copy[i] = copy[i - 1];
	for (c = copy, i = 0; *c; c++)
		i++;
	h = mix(h, i + strlen(copy) + memcmp(text, copy, n));
	memmove(copy + 3, copy, 60);
	h = mix(h, strcmp(text, copy) > 0);
	for (i = 0; i < 128; i++)
		h = mix(h, copy[i]);
	return mix(h, strchr(text, 'q') ? strchr(text, 'q') - text : -1);
}

struct fields {
	unsigned int a : 3;
	int b : 7;
	uint64_t c : 41;
	_Bool d : 1;
};

uint64_t bit_fields(int round)
{
	struct fields f = {0, 0, 0, 0};
	union {
		float x;
		unsigned int u;
		unsigned char b[4];
	} pun;
	uint64_t h = 1;
	int i;

	for (i = 0; i < 40; i++) {
		f.a += i;
		f.b -= round + i;
		f.c = f.c * 0x10001 + f.a;
		f.d ^= f.b < 0;
		pun.x = (float)(f.b * 1.5);
		pun.b[i & 3] ^= (unsigned char)round & 0x3f;
		h = mix(h, f.a + f.b * 3 + f.c + f.d + pun.u);
	}
	return h;
}

static atomic_int atom;
static _Atomic uint64_t wide_atom;

uint64_t atomics(int round)
{
	uint64_t h = 1, expected;
	int i;

	for (i = 0; i < 20; i++) {
		atomic_fetch_add(&atom, i + round);
		atomic_fetch_xor_explicit(&wide_atom, (uint64_t)atom << i, memory_order_relaxed);
		expected = wide_atom & ~1ULL;
		h = mix(h, atomic_compare_exchange_strong(&wide_atom, &expected, i) + expected);
	}
	return h;
}
