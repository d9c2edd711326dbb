/* SPDX-License-Identifier: BSD-2-Clause */
/* The strong definition that wins over the weak one of calls3.c. */
int weak_overridden(int n)
{
	int x = 0;

	for (int i = 0; i < n; i++)
		x = x * 5 + i;
	return x;
}
