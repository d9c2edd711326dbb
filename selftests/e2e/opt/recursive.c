// SPDX-License-Identifier: BSD-2-Clause
/* Functions that call themselves, each with another way out of it. */
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

static int data[1000];

NOINLINE uint64_t fib(int n)
{
	uint64_t sum = 1;
	int i;

	for (i = 1; i < n; i++)
		sum += i == 1 || i == 2 ? fib(n - i) : 0;
	return sum;
}

NOINLINE uint64_t many_fibs(int n)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < n; i++)
		sum += fib(i) % 100 * (sum & 3) + (fib(i / 2) ^ sum);
	return sum;
}

NOINLINE int is_odd(const int *digits, int n);

NOINLINE int is_even(const int *digits, int n)
{
	while (n > 0 && digits[n] % 2 == 0)
		n--;
	return n <= 0 ? 1 : is_odd(digits, n - 1);
}

NOINLINE int is_odd(const int *digits, int n)
{
	while (n > 0 && digits[n] % 2 == 0)
		n--;
	return n <= 0 ? 0 : is_even(digits, n - 1);
}

NOINLINE int many_parities(const int *digits, int n)
{
	int sum = 0, i;

	for (i = 0; i < n; i++)
		sum += is_even(digits, i) * digits[i] ^ is_odd(digits, i / 2) << (i & 3);
	return sum;
}

NOINLINE void quick_sort(int *list, int first, int last)
{
	int pivot, at = first, i, tmp;

	if (first >= last)
		return;
	pivot = list[last];
	for (i = first; i <= last; i++) {
		if (list[i] > pivot)
			continue;
		tmp = list[i];
		list[i] = list[at];
		list[at++] = tmp;
	}
	quick_sort(list, first, at - 2);
	quick_sort(list, at, last);
}

NOINLINE uint64_t many_sorts(int n)
{
	uint64_t sum = 0;
	int i, j;

	for (i = 0; i < n; i++) {
		for (j = 0; j < 1000; j++)
			data[j] = (j * 7919 + i) % 1009;
		quick_sort(data, 0, 999);
		sum += data[i];
	}
	return sum;
}

/* Called by main alone, which is entered once. */
NOINLINE int depth(const int *list, int n)
{
	int sum = 0, i;

	for (i = 0; i < n; i++)
		sum += list[i] & 1 ? depth(list, i / 2) : 1;
	return sum;
}

int main(void)
{
	uint64_t sum = many_sorts(20);

	printf("%lu %d %d %lu\n", sum, many_parities(data, 100), depth(data, 100), many_fibs(20));
	return 0;
}
