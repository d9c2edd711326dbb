// SPDX-License-Identifier: BSD-2-Clause
/* Loops of many shapes, in code that is entered once. What they compute is all that is looked at. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 40000

static uint32_t words[N];
static volatile int zero;

static uint32_t next(uint32_t x)
{
	return x * 1664525 + 1013904223;
}

/* Bounds of all kinds, up and down, by more than one. */
static void counting(long n)
{
	uint64_t sum = 0;
	uint32_t u;
	int i;

	for (i = 0; i < n; i++)
		words[i] = next(i);
	for (i = 0; i <= n - 1; i += 3)
		sum += words[i];
	for (long j = n - 1; j > 0; j -= 2)
		sum ^= words[j];
	for (u = n; u != 0; u--)
		sum += words[u - 1] >> 3;
	for (size_t k = 0; k != (size_t)n; ++k)
		sum = sum * 31 + words[k];
	/* The bound is as near to the end of the type as it can be. */
	for (u = UINT32_MAX - 70000; u < UINT32_MAX; u++)
		sum += u;
	for (i = INT32_MIN; i < INT32_MIN + 50000; i++)
		sum ^= (uint64_t)i;
	for (i = 5; i < zero; i++)
		sum = 0;
	printf("counting %d %u %llu\n", i, u, (unsigned long long)sum);
}

static void left_early(long n)
{
	unsigned int hist[64] = {0}, unset[64], s = 1;
	long i, j = 0, rounds;

	for (rounds = 0; rounds < 50; rounds++) {
		for (i = 0; i < n; i++) {
			s = next(s);
			if (s >> 26 == 7 && i > 30000)
				break;
			if (s & 1)
				continue;
			hist[s >> 26]++;
			unset[s >> 26] = s;
			if (hist[s >> 26] == 18000)
				goto found;
		}
		j += i;
	}
found:
	for (i = 0; i < 64; i++)
		s = s * 31 + hist[i] + (hist[i] ? unset[i] : 0);
	printf("left early %ld %ld %u\n", rounds, j, s);
}

/* Pointers into a local variable, and to what points there, go in and out. */
static void pointers(long n)
{
	struct node {
		struct node *next;
		long value;
	} nodes[100], *p, **where;
	char text[200] = "";
	size_t len = 0;

	for (int i = 0; i < 100; i++)
		nodes[i] = (struct node){&nodes[(i * 37 + 11) % 100], i};
	p = nodes;
	where = &nodes[3].next;
	while (n > 0) {
		for (int i = 0; i < 1000; i++) {
			p->value += n;
			p = p->next;
			if (p == &nodes[5])
				*where = &nodes[(p->value & 63) + 1];
		}
		if (n % 1000 == 0 && len < 150)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%ld ", p->value);
		n -= 10;
	}
	printf("pointers %ld %s\n", p->value, text);
}

static void doing(long n)
{
	double a = 1, b = 0.5;
	long i = 0;

	do {
		long k = i;

		do {
			a = a * 0.999 + b / (double)(k + 1);
			k -= 3;
		} while (k > 0);
		i++;
	} while (i < n / 20);
	printf("doing %a\n", a);
}

static void *thread(void *arg)
{
	uint64_t *out = arg, sum = 0;

	for (long i = 0; i < 3000; i++)
		for (long j = 0; j < 300; j++)
			sum = sum * 7 + (uint64_t)(i ^ j) % 11;
	*out = sum;
	return NULL;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : N;
	pthread_t id;
	uint64_t out;

	counting(n);
	left_early(n);
	pointers(n);
	doing(n);
	if (pthread_create(&id, NULL, thread, &out) || pthread_join(id, NULL))
		return 1;
	printf("thread %llu\n", (unsigned long long)out);
	return 0;
}
