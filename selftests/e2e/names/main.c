/* SPDX-License-Identifier: BSD-2-Clause */
/* outer() calls inner() calls probe(), which acts once inner() runs as a variant. */
#include <stdio.h>
#include <stdlib.h>

#include "probe.h"

int few = 5;

static inline unsigned long mix(unsigned long h)
{
	int i;

	for (i = 0; i < few; i++)
		h = (h ^ h >> 7) * 0x100000001b3UL + i;
	return h;
}

__attribute__((noinline)) unsigned long inner(unsigned long h)
{
	h = mix(h);
	h ^= probe(h);
	return mix(h);
}

static __attribute__((noinline)) unsigned long outer(unsigned long h)
{
	h = mix(h + 1);
	return mix(inner(h)) + 1;
}

int main(int argc, char **argv)
{
	unsigned long h = 1;
	long i, n = argc > 2 ? atol(argv[2]) : 1000000000;

	setvbuf(stdout, NULL, _IOLBF, 0);
	probe_begin(argc > 1 ? argv[1] : "");
	for (i = 0; i < n && !probe_ended(); i++)
		h = outer(h);
	printf("%ld %lu\n", i, h);
	return 0;
}
