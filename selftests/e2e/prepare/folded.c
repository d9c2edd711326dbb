/* SPDX-License-Identifier: BSD-2-Clause */
/* Links only because the optimizer drops a local table that nobody reaches. */
#include <stdio.h>

extern int never_defined(int);

static int (*const table[])(int) = {never_defined, never_defined};

static int pick(int use, int n)
{
	return use ? table[n & 1](n) : n + 1;
}

int main(int argc, char **argv)
{
	(void)argv;
	printf("%d\n", pick(0, argc));
	return 0;
}
