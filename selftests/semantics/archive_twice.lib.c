// SPDX-License-Identifier: BSD-2-Clause
#include "archive.h"

static long uses;

long archive_twice(long a)
{
	return 2 * a + (++uses & 0);
}
