/* SPDX-License-Identifier: BSD-2-Clause */
/* What e2e/prepare/calls.c does, as many times as the argument says. */
#include <stdlib.h>

#define main once_more
#include "../../e2e/prepare/calls.c"
#undef main

int main(int argc, char **argv)
{
	for (int n = argc > 1 ? atoi(argv[1]) : 1; n > 0; n--)
		once_more();
	return 0;
}
