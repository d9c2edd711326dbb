/* SPDX-License-Identifier: BSD-2-Clause */
/* A weak definition that loses, and an alias that still means this copy. */
__attribute__((weak)) int weak_overridden(int n)
{
	int x = 0;

	for (int i = 0; i < n; i++)
		x = x * 7 + i;
	return x;
}

int weak_alias(int n) __attribute__((alias("weak_overridden")));
