/* SPDX-License-Identifier: BSD-2-Clause */
/* Names in a backtrace, through functions with entries. */
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

volatile int stop = 3;

__attribute__((noinline)) int inner(int n)
{
	void *frames[8];
	char **names;
	int count = 0;

	for (int i = 0; i < n && count < 3; i++)
		count = backtrace(frames, 8);
	names = backtrace_symbols(frames, count);
	for (int i = 0; i < 3; i++) {
		char *name = strchr(names[i], '(');

		printf("%.*s\n", (int)strcspn(name, "+)"), name);
	}
	free(names);
	return count + stop;
}

__attribute__((noinline)) int outer(int n)
{
	int x = 0;

	for (int i = 0; i < n; i++)
		x += inner(i + 3) + stop;
	return x;
}

int main(void)
{
	return outer(1) == 0;
}
