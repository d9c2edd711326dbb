// SPDX-License-Identifier: BSD-2-Clause
#include "archive.h"

static long uses;

long archive_add(long a, long b)
{
	uses++;
	return archive_twice(a) + b;
}

long archive_uses(void)
{
	return uses;
}
