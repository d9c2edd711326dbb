// SPDX-License-Identifier: BSD-2-Clause
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

#define NOINLINE __attribute__((noinline))

static uint64_t mix(uint64_t h, uint64_t v)
{
	return (h ^ v) * 0x100000001b3ULL;
}

static uint64_t bits(double d)
{
	uint64_t u;

	memcpy(&u, &d, sizeof(u));
	return u;
}

static double fade(double t)
{
	return t * t * t * (t * (t * 6 - 15) + 10);
}

uint64_t noise(int n)
{
	uint64_t h = 1;
	double x, f;
	int i;

	for (i = 0; i < n; i++) {
		x = i * 0.37 - 100;
		f = floor(x);
		h = mix(h, bits(fade(x - f) * ceil(x / 3)));
	}
	return h;
}

uint64_t multiply_add(int n)
{
	double a[64], sum = 0;
	uint64_t h = 1;
	int i, j;

	for (i = 0; i < 64; i++)
		a[i] = 1.0 / (i + 3);
	for (j = 0; j < n; j++) {
		for (i = 0; i < 64; i++)
			a[i] = a[i] * 1.0000001 + 0.1 / (j + 1);
		for (i = 0; i < 64; i++)
			sum = sum + a[i] * a[63 - i];
		h = mix(h, bits(sum));
	}
	return h;
}

static char flag;
static int counter = 5;
static int big[64];

static NOINLINE int peek(int i)
{
	return big[i & 63] + counter * 3 + flag;
}

uint64_t state(int n)
{
	static short calls = 7;
	static int history[8];
	uint64_t h = 1;
	int i;

	calls++;
	for (i = 0; i < n; i++) {
		counter += i & 3;
		flag ^= i & 1;
		big[i & 63] += counter;
		history[i & 7] = peek(i) + calls;
		h = mix(h, history[(i * 5) & 7]);
	}
	return h;
}

static _Thread_local char small_local = 3;
static _Thread_local uint64_t locals[5] = {9, 8, 7, 6, 5};

uint64_t thread_locals(int n)
{
	uint64_t h = 1;
	int i;

	for (i = 0; i < n; i++) {
		small_local += i;
		shared_local ^= small_local;
		locals[i % 5] += shared_local + i;
		h = mix(h, locals[(i * 3) % 5]);
	}
	return h;
}

static const int sentinel;
static const void *kept;
static int (*kept_function)(int);

static NOINLINE int twice(int x)
{
	return 2 * x + 1;
}

/* Always the shipped code: what it keeps is compared with what a variant finds. */
static NOINLINE void keep(void)
{
	kept = &sentinel;
	kept_function = twice;
}

uint64_t pointer_identity(int n)
{
	uint64_t h = 1;
	int i;

	if (!kept)
		keep();
	for (i = 0; i < n; i++)
		h = mix(h, (kept == &sentinel) + 2 * (kept_function == twice) + twice(i));
	kept = &sentinel;
	kept_function = twice;
	return h;
}

static int op_add(int x)
{
	return x + counter;
}

static int op_shift(int x)
{
	return x << 3 ^ x;
}

static int (*const operations[])(int) = {op_add, op_shift, twice, op_shift};
static const char *const names[] = {"zero", "one", "two", "three"};

uint64_t pointer_table(int n)
{
	uint64_t h = 1;
	int i;

	for (i = 0; i < n; i++) {
		h = mix(h, operations[i & 3](i));
		h = mix(h, names[(i >> 2) & 3][i & 1]);
	}
	return mix(h, operations[1](n) + names[2][1]);
}

uint64_t imported_math(int n)
{
	double (*f)(double) = n & 1 ? sin : cos;
	uint64_t h = 1;
	int i;

	for (i = 1; i < n; i++)
		h = mix(h, bits(sin(i) + exp(1.0 / i) + pow(i, 0.3) + sqrt(i) + f(i)));
	return h;
}

uint64_t strings(int n)
{
	char text[64], copy[64];
	uint64_t h = 1;
	int i;

	for (i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "%d of %s", i, "many");
		strcpy(copy, text);
		strcat(copy, "!");
		h = mix(h, strlen(copy) + (strcmp(copy, text) > 0) + (unsigned char)copy[i % 5]);
	}
	return h;
}

static int compare_ints(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

uint64_t sorting(int n)
{
	int list[100], i;
	uint64_t h = 1;

	for (i = 0; i < 100; i++)
		list[i] = (i * 7919 + n) % 1009;
	qsort(list, 100, sizeof(list[0]), compare_ints);
	for (i = 0; i < 100; i++)
		h = mix(h, list[i] + compare_ints(&list[i], &list[n % 100]));
	return h;
}

int this_odd(int n)
{
	return n ? other_even(n - 1) : 0;
}

static NOINLINE int ackermann(int m, int n)
{
	if (!m)
		return n + 1;
	return ackermann(m - 1, n ? ackermann(m, n - 1) : 1);
}

uint64_t recursion(int n)
{
	uint64_t h = ackermann(2, n % 30);
	int i;

	for (i = 0; i < n && i < 3; i++)
		h = mix(h, recursion(i) + other_even(i));
	return h;
}

uint64_t imported_data(int n)
{
	FILE *out = n & 1 ? stdout : stderr;
	FILE *const both[] = {stdout, stderr};
	uint64_t h = 1;
	int i;

	for (i = 0; i < n; i++)
		h = mix(h, (out == stdout) + 2 * (both[i & 1] == stderr) + (fileno(both[i & 1])));
	return h;
}

uint64_t wide_division(int n)
{
	unsigned __int128 a = 1;
	uint64_t h = 1;
	int i;

	for (i = 1; i < n; i++) {
		a = a * 1000003 + i;
		h = mix(h, (uint64_t)(a / (((unsigned __int128)i << 66) + 12345)));
		h = mix(h, (uint64_t)((__int128)a % (i * 77777777777LL)));
	}
	return h;
}

struct large {
	uint64_t words[300];
};

static NOINLINE struct large rotate(struct large in, int by)
{
	struct large out = in;
	int i;

	for (i = 0; i < 300; i++)
		out.words[i] = in.words[(i + by) % 300] + i;
	return out;
}

uint64_t big_structs(int n)
{
	struct large a = {{1, 2, 3}}, b;
	int i;

	for (i = 0; i < n; i++) {
		b = a;
		a = rotate(b, i);
		if (memcmp(&a, &b, sizeof(a)) > 0)
			memmove(&a.words[1], &a.words[0], 100 * sizeof(a.words[0]));
	}
	return mix(a.words[7], a.words[299]);
}

static NOINLINE int sum_of(int n, ...)
{
	va_list ap;
	int sum = 0;

	va_start(ap, n);
	while (n--)
		sum += va_arg(ap, int);
	va_end(ap);
	return sum;
}

uint64_t variadic(int n)
{
	uint64_t h = 1;
	int i;

	for (i = 0; i < n; i++)
		h = mix(h, sum_of(7, i, 2, 3 * i, 4, 5, counter, 7));
	return h;
}

uint64_t two_units(int n)
{
	uint64_t h = 1;
	int i;

	for (i = 0; i < n; i++) {
		counter++;
		shared_counter += counter;
		h = mix(h, other_state(i) + this_odd(i & 7));
	}
	return h;
}

/* Undefined, and what programs do all the same. */
uint64_t out_of_range(int n)
{
	uint64_t h = 1;
	double d = -3.5;
	int i;

	for (i = 0; i < n; i++) {
		h = mix(h, (uint32_t)d) + (uint64_t)d;
		d = d * -3.7 + peek(0) * 1e-9;
	}
	return h;
}

static NOINLINE const char *word(int i)
{
	switch (i) {
	case 0:
		return "null";
	case 1:
		return "eins";
	case 2:
		return "zwei";
	case 3:
		return "drei";
	case 4:
		return "vier";
	case 5:
		return "fuenf";
	default:
		return "viele";
	}
}

uint64_t switch_of_strings(int n)
{
	uint64_t h = 1;
	int i;

	for (i = 0; i < n; i++)
		h = mix(h, word(i % 8)[1] + (uint64_t)word(i % 5)[3]);
	return h;
}

static jmp_buf back;

static NOINLINE void leap(int i)
{
	if (i % 3 == 0)
		longjmp(back, i + 1);
}

static NOINLINE int catch_leap(int i)
{
	int r = setjmp(back);

	if (!r)
		leap(i);
	return r;
}

/* A switch over addresses of the program becomes a table of absolute words. */
static int first, second = 1, third = 2, fourth = 3, fifth = 4;

static int *by_number(unsigned int n)
{
	switch (n) {
	case 0:
		return &third;
	case 1:
		return &first;
	case 2:
		return &fifth;
	case 3:
		return &second;
	case 4:
		return &fourth;
	default:
		return &counter;
	}
}

uint64_t switch_of_data(int n)
{
	uint64_t h = 1;
	int i;

	for (i = 0; i < n; i++)
		h = mix(h, (*by_number((unsigned int)i % 7))++);
	return h;
}

uint64_t long_jump(int n)
{
	uint64_t h = 1;
	int i;

	for (i = 0; i < n; i++) {
		h = mix(h, catch_leap(i));
		h = mix(h, peek(i) % 7);
		h = mix(h, catch_leap(i + 1) ^ (h >> 3));
		if (h & 1)
			h = mix(h, peek(i + 1) / 3);
	}
	return h;
}

uint64_t dynamic_arrays(int n)
{
	uint64_t h = 1;
	int i, j;

	for (i = 1; i < n % 50 + 2; i++) {
		int list[i];

		for (j = 0; j < i; j++)
			list[j] = j * i;
		h = mix(h, list[i / 2]);
	}
	return h;
}

uint64_t long_doubles(int n)
{
	long double sum = 1;
	int i;

	for (i = 1; i < n; i++)
		sum = sum * 1.00001L + 1.0L / i;
	return bits((double)sum);
}

uint64_t assembly(int n)
{
	uint64_t h = 1, rotated;
	int i;

	for (i = 0; i < n; i++) {
		rotated = h;
		__asm__("rolq $13, %0" : "+r"(rotated) : : "cc");
		h = mix(h, rotated + i);
	}
	return h;
}

/* other.c has its own of this name. */
static int common_name(int i)
{
	return counter + i * 3;
}

uint64_t common_names(int n)
{
	uint64_t h = 1;
	int i;

	for (i = 0; i < n; i++)
		h = mix(h, common_name(i) + other_state(i));
	return h;
}

int missing_function(int n) __attribute__((weak));

uint64_t weak_reference(int n)
{
	uint64_t h = 1;
	int i;

	for (i = 0; i < n; i++)
		h = mix(h, i);
	return missing_function ? missing_function(n) : h;
}

static NOINLINE uint64_t local_root_body(int n)
{
	uint64_t h = 1;
	int i;

	for (i = 0; i < n; i++)
		h = mix(h, counter + peek(i));
	return h;
}

uint64_t (*const local_root_entry)(int n) = local_root_body;

uint64_t local_root(int n)
{
	return local_root_entry(n);
}

uint64_t fast_math(int n)
{
#pragma clang fp reassociate(on)
	double sum = 0;
	int i;

	for (i = 1; i < n; i++)
		sum += 1.0 / i;
	return bits(sum);
}

uint64_t loop_hint(int n)
{
	double list[64], sum = 0;
	int i;

	for (i = 0; i < 64; i++)
		list[i] = 1.0 / (i + n);
#pragma clang loop vectorize(enable)
	for (i = 0; i < 64; i++)
		sum += list[i];
	return bits(sum);
}

uint64_t computed_goto(int n)
{
	static const void *const labels[] = {&&add, &&twist, &&done};
	static const unsigned char program[] = {0, 1, 1, 0, 1, 2};
	const unsigned char *pc = program;
	uint64_t h = n;

	goto *labels[*pc++];
add:
	h += 17;
	goto *labels[*pc++];
twist:
	h = mix(h, 3);
	goto *labels[*pc++];
done:
	return h;
}

typedef double vector4 __attribute__((vector_size(32)));

static NOINLINE vector4 scale(vector4 v, double by)
{
	return v * by;
}

uint64_t wide_vectors(int n)
{
	vector4 v = {1, 2, 3, 4};
	int i;

	for (i = 0; i < n; i++)
		v = scale(v, 1.01);
	return bits(v[0] + v[3]);
}
