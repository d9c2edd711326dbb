// SPDX-License-Identifier: BSD-2-Clause
/* Ways to get from one place to another. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "torture.h"

#define NOINLINE __attribute__((noinline))

static NOINLINE int dispatch(int op, int a)
{
	switch (op) {
	case 0:
		return a + 1;
	case 1:
		return a * 3;
	case 2:
		return a ^ 0x55;
	case 3:
		return a - 7;
	case 4:
		return a >> 1;
	case 5:
		return a << 2;
	case 6:
		return ~a;
	case 7:
		return a % 11;
	case 8:
		return a & 0xff;
	case 9:
		return a | 0x100;
	case 10:
		return -a;
	default:
		return a / 3;
	}
}

uint64_t jump_tables(int round)
{
	uint64_t h = 1;
	int i, a = round;

	for (i = 0; i < 100; i++) {
		a = dispatch((i * 7 + round) % 13, a) & 0xffffff;
		h = mix(h, a);
	}
	return h;
}

struct pair {
	double x;
	int y;
};

NOINLINE uint64_t sum_all(const char *types, ...)
{
	uint64_t sum = 0;
	va_list ap, copy;
	const char *c;
	struct pair p;

	va_start(ap, types);
	va_copy(copy, ap);
	for (c = types; *c; c++) {
		switch (*c) {
		case 'i':
			sum = mix(sum, va_arg(ap, int));
			break;
		case 'd':
			sum = mix(sum, (uint64_t)va_arg(ap, double));
			break;
		case 'l':
			sum = mix(sum, va_arg(ap, long));
			break;
		case 'L':
			sum = mix(sum, (uint64_t)va_arg(ap, long double));
			break;
		case 'p':
			sum = mix(sum, strlen(va_arg(ap, const char *)));
			break;
		case 's':
			p = va_arg(ap, struct pair);
			sum = mix(sum, p.y + (int)p.x);
			break;
		}
	}
	va_end(ap);
	if (*types == 'i')
		sum = mix(sum, va_arg(copy, int));
	va_end(copy);
	return sum;
}

uint64_t variadic(int round)
{
	struct pair p = {round * 0.5, round};
	uint64_t h = 1;
	int i;

	for (i = 0; i < 10; i++) {
		h = mix(h, sum_all("idlLps", i, i * 1.5, 7L * i, (long double)i, "text", p));
		h = mix(h, sum_all("iiiiiiiidddddddddd", 1, 2, 3, 4, 5, 6, 7, i, 1., 2., 3., 4., 5.,
				   6., 7., 8., 9., 10.));
	}
	return h;
}

struct small {
	float x, y, z;
};
struct mixed {
	long a;
	double b;
};
struct large {
	int v[20];
};

NOINLINE struct small turn(struct small s, int n)
{
	struct small t = s;
	int i;

	for (i = 0; i < n; i++) {
		t = (struct small){t.y + 1, t.z * 0.5f, t.x - s.y};
	}
	return t;
}

NOINLINE struct mixed swing(struct mixed m, struct large l, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		m.a += l.v[i % 20];
		m.b = m.b * 0.5 + (double)m.a;
		l.v[(i + 1) % 20] ^= (int)m.a;
	}
	return m;
}

NOINLINE struct large rotate(struct large l, int n)
{
	struct large r;
	int i;

	for (i = 0; i < 20; i++)
		r.v[i] = l.v[(i + n) % 20] + n;
	return r;
}

uint64_t by_value(int round)
{
	struct small s = {1, 2, (float)round};
	struct mixed m = {round, 1.5};
	struct large l;
	uint64_t h = 1;
	int i;

	for (i = 0; i < 20; i++)
		l.v[i] = i * round;
	for (i = 0; i < 20; i++) {
		s = turn(s, i);
		l = rotate(l, i);
		m = swing(m, l, i + 3);
		h = mix(h, (uint64_t)(int64_t)(s.x * 16) + l.v[i] + m.a + (int64_t)m.b);
		m.a &= 0xffff;
		m.b = 1 / (1 + m.b * m.b);
	}
	return h;
}

int each(int *list, int n, int (*fn)(int))
{
	int i, sum = 0;

	for (i = 0; i < n; i++) {
		list[i] = list[i] * 3 + 1;
		sum += fn(list[i]) ^ i;
	}
	return sum;
}

static int direction;
static int compare(const void *a, const void *b)
{
	const int *x = a, *y = b;
	int i, bits = 0;

	for (i = 0; i < 4; i++)
		bits += (*x >> i & 1) - (*y >> i & 1);
	return bits ? bits * direction : *x - *y;
}

uint64_t callbacks(int round)
{
	int list[50], i, *found;
	uint64_t h = 1;

	direction = round & 1 ? 1 : -1;
	for (i = 0; i < 50; i++)
		list[i] = (i * 7919 + round) % 211;
	qsort(list, 50, sizeof(*list), compare);
	found = bsearch(&list[round % 50], list, 50, sizeof(*list), compare);
	for (i = 0; i < 50; i++)
		h = mix(h, list[i] + (found ? *found : -1));
	return h;
}

static int add(int a, int b)
{
	return a + b;
}
static int sub(int a, int b)
{
	return a - b;
}
static int mul(int a, int b)
{
	return (int)((unsigned int)a * (unsigned int)b);
}
static int xor (int a, int b) { return a ^ b; }

	static const struct {
	const char *name;
	int (*fn)(int, int);
} table[] = {{"add", add}, {"sub", sub}, {"mul", mul}, {"xor", xor}};

uint64_t pointer_table(int round)
{
	static int (*const fns[])(int, int) = {xor, mul, sub, add};
	uint64_t h = 1;
	int i, a = round;

	for (i = 0; i < 40; i++) {
		a = fns[i & 3](table[(i >> 2) & 3].fn(a, i), round) & 0xfffff;
		h = mix(h, a + table[i & 3].name[0]);
	}
	return h;
}

static NOINLINE int collatz_odd(unsigned int n, int steps);

static NOINLINE int collatz(unsigned int n, int steps)
{
	while (!(n & 1) && n) {
		n >>= 1;
		steps++;
	}
	return n <= 1 ? steps : collatz_odd(n, steps);
}

static NOINLINE int collatz_odd(unsigned int n, int steps)
{
	while (n & 1 && n > 1) {
		n = 3 * n + 1;
		steps++;
	}
	return collatz(n, steps);
}

uint64_t tail_calls(int round)
{
	uint64_t h = 1;
	int i;

	for (i = 1; i < 40; i++)
		h = mix(h, collatz(i + round % 1000, 0));
	return h;
}

uint64_t computed(int round)
{
	static const void *const labels[] = {&&increment, &&twice, &&flip, &&next};
	static const unsigned char code[] = {0, 1, 3, 2, 0, 0, 3, 1, 2, 3, 1};
	uint64_t h = 1, pc = 0;
	unsigned int a = round;

	goto *labels[code[pc]];
increment:
	a++;
	goto next;
twice:
	a *= 2;
	goto next;
flip:
	a ^= 0xff;
next:
	h = mix(h, a);
	if (++pc < 200)
		goto *labels[code[pc % sizeof(code)]];
	return h;
}

uint64_t assembly(int round)
{
	uint64_t h = 1, count;
	int i;

	for (i = 0; i < 20; i++) {
		__asm__ volatile("xorl %k0, %k0\n"
				 "1:\taddq $3, %0\n\tdecl %1\n\tjg 1b\n"
				 ".Ltorture%=:"
				 : "=&r"(count), "+r"((int){round % 50 + i})::"cc");
		h = mix(h, count);
	}
	return h;
}

static jmp_buf env;

NOINLINE int dive(int depth, int n)
{
	int i, sum = 0;

	for (i = 0; i < depth; i++)
		sum += i ^ n;
	if (depth > n)
		longjmp(env, depth + (sum & 1));
	return dive(depth + 1, n) + sum;
}

uint64_t jumps(int round)
{
	volatile uint64_t h = 1;
	volatile int i;
	int got;

	for (i = 0; i < 10; i++) {
		got = setjmp(env);
		if (!got)
			dive(1, 3 + (round + i) % 5);
		h = mix(h, got + i);
	}
	return h;
}

static volatile int handled;

static void on_signal(int number)
{
	int i, sum = 0;

	for (i = 0; i < 20; i++)
		sum += i * number ^ handled;
	handled = (handled + sum) & 0xffff;
}

uint64_t signals(int round)
{
	uint64_t h = 1;
	int i;

	signal(SIGUSR1, on_signal);
	for (i = 0; i < 5; i++) {
		raise(SIGUSR1);
		h = mix(h, handled + round);
	}
	return h;
}

NOINLINE uint64_t fill(unsigned char *at, int n, int seed)
{
	uint64_t h = 1;
	int i;

	for (i = 0; i < n; i++)
		at[i] = (unsigned char)(i * seed);
	for (i = 0; i < n; i++)
		h = mix(h, at[i]);
	return h;
}

uint64_t arrays(int round)
{
	uint64_t h = 1;
	int i;

	for (i = 1; i < 12; i++) {
		int vla[i][i + round % 7];
		unsigned char *more = __builtin_alloca(i * 16);
		int j;

		for (j = 0; j < i; j++)
			vla[j][(j + round) % (i + round % 7)] = j;
		h = mix(h,
			fill(more, i * 16, round) + vla[i - 1][(i - 1 + round) % (i + round % 7)]);
	}
	return h;
}

NOINLINE int ack(int m, int n)
{
	while (m) {
		n = n ? ack(m, n - 1) : 1;
		m--;
	}
	return n + 1;
}

uint64_t ackermann(int round)
{
	return ack(2, round % 12) + ack(1, round % 50);
}

/* Each child goes on by itself for a moment, and is switched too. */
uint64_t children(int round)
{
	int i, status, fds[2];
	uint64_t h = 1, from = 0;
	pid_t pid;

	if (round % 64)
		return 0;
	if (pipe(fds))
		return 1;
	pid = fork();
	if (pid == 0) {
		for (i = 0; i < 50; i++)
			h = mix(h, jump_tables(i) + pointer_table(i) + same_names(i));
		_exit(write(fds[1], &h, sizeof(h)) != sizeof(h));
	}
	close(fds[1]);
	if (read(fds[0], &from, sizeof(from)) != sizeof(from))
		from = 2;
	close(fds[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return 3;
	return from;
}

uint64_t cpu(int round)
{
	uint64_t h = 1;
	int i;

	__builtin_cpu_init();
	for (i = 0; i < 10; i++)
		h = mix(h, (__builtin_cpu_supports("sse2") != 0) +
				   2 * (__builtin_cpu_supports("avx2") != 0) +
				   4 * (__builtin_cpu_supports("bmi2") != 0) + round);
	return h;
}
