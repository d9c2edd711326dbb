// SPDX-License-Identifier: BSD-2-Clause
/* Calls members of an archive, which a variant takes into itself. */
#include "archive.h"

static SEM_NOINLINE long use_archive(int n)
{
	long sum = 0;
	int i;

	SEM_HERE("use_archive");
	for (i = 0; i < n; i++)
		sum = archive_add(sum, i) ^ archive_twice(i);
	return sum;
}

SEM_CASE(archive)
{
	long before = archive_uses();

	sem_print("  %ld %ld\n", use_archive(50), archive_uses() - before);
}
