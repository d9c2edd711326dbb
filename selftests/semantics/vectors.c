// SPDX-License-Identifier: BSD-2-Clause
/*
 * Vectors as arguments and results. Without a CPU's registers for them they are passed in other
 * ways, so a variant for the host must not pass them as the host would.
 */
#include "sem.h"

#pragma clang diagnostic ignored "-Wpsabi"

typedef int v4 __attribute__((vector_size(16)));
typedef int v8 __attribute__((vector_size(32)));
typedef double d8 __attribute__((vector_size(64)));
typedef short s3 __attribute__((ext_vector_type(3)));

SEM_NOINLINE v4 turn4(v4 a, v4 b, int n)
{
	SEM_HERE("turn4");
	while (n--)
		a = a * 3 + (b ^ n);
	return a;
}

SEM_NOINLINE v8 turn8(v8 a, v8 b, int n)
{
	SEM_HERE("turn8");
	while (n--)
		a = (a << 1) - (b ^ n) + __builtin_shufflevector(a, b, 3, 9, 2, 15, 1, 8, 0, 7);
	return a;
}

SEM_NOINLINE d8 turn16(d8 a, d8 b, int n)
{
	SEM_HERE("turn16");
	while (n--)
		a = a * 0.5 + b - (double)n;
	return a;
}

static SEM_NOINLINE v8 local8(v8 a, int n)
{
	SEM_HERE("local8");
	while (n--)
		a += turn8(a, a - n, 2);
	return a;
}

SEM_NOINLINE s3 turn3(s3 a, int n)
{
	SEM_HERE("turn3");
	while (n--)
		a = (s3){a.y, (short)(a.z + n), a.x};
	return a;
}

/* Calls them by pointer, and has no vectors in its own signature. */
static SEM_NOINLINE unsigned long call_wide(v8 (*fn)(v8, v8, int), int n)
{
	v8 a = {n, 1, 2, 3, 4, 5, 6, 7}, b = a + 3;
	unsigned long h = 1;
	int i, j;

	SEM_HERE("call_wide");
	for (i = 0; i < n; i++) {
		a = fn(a, b, i) & 0xffff;
		for (j = 0; j < 8; j++)
			h = sem_mix(h, a[j]);
	}
	return h;
}

struct holds_vector {
	v8 v;
	int n;
};

SEM_NOINLINE struct holds_vector turn_struct(struct holds_vector h, int n)
{
	SEM_HERE("turn_struct");
	while (n--) {
		h.v = h.v * h.n + n;
		h.n ^= h.v[n & 7];
	}
	return h;
}

#ifdef __x86_64__
#define AVX512 __attribute__((target("avx512f"), noinline))
typedef long long w8 __attribute__((vector_size(64)));

AVX512 w8 turn512(w8 a, w8 b, int n)
{
	SEM_HERE("turn512");
	while (n--)
		a = (a ^ b) + n - (b << 2);
	return a;
}

AVX512 unsigned long drive512(int n)
{
	w8 a = {1, 2, 3, 4, 5, 6, 7, 8}, b = a * n;
	unsigned long h = 1;
	int i;

	SEM_HERE("drive512");
	for (i = 0; i < n; i++)
		a = turn512(a, b, i + 1);
	for (i = 0; i < 8; i++)
		h = sem_mix(h, a[i]);
	return h;
}

__attribute__((target("avx2"), noinline)) v8 turn256(v8 a, v8 b, int n)
{
	SEM_HERE("turn256");
	while (n--)
		a = (a ^ b) * 5 + n;
	return a;
}

__attribute__((target("avx2"), noinline)) unsigned long drive256(int n)
{
	v8 a = {1, 2, 3, 4, 5, 6, 7, 8};
	int i;

	SEM_HERE("drive256");
	for (i = 0; i < n; i++)
		a = turn256(a, a + i, i + 1);
	return sem_mix(a[0] + a[7], a[3]);
}
#endif

SEM_CASE(vectors)
{
	v4 a = {1, 2, 3, 4};
	v8 b = {1, 2, 3, 4, 5, 6, 7, 8};
	d8 c = {1, 2, 3, 4, 5, 6, 7, 8};
	struct holds_vector held = {b, 3};
	s3 s = {1, 2, 3};
	int i;

	for (i = 1; i < 9; i++) {
		a = turn4(a, a + i, i);
		b = turn8(b, b - i, i);
		b = local8(b, i & 3) & 0xffffff;
		c = turn16(c, c + i, i);
		s = turn3(s, i);
		held = turn_struct(held, i);
	}
	sem_print("  %d %d %d %d %a %a %d %d %d\n", a[0], a[3], b[0], b[7], c[0], c[7], s.x, s.z,
		  held.n + held.v[5]);
	sem_print("  %lx\n", call_wide(turn8, 7));
	if (__builtin_cpu_supports("avx2"))
		sem_print("  %lx\n", drive256(6));
	if (__builtin_cpu_supports("avx512f"))
		sem_print("  %lx\n", drive512(6));
}
