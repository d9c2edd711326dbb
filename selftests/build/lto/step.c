// SPDX-License-Identifier: BSD-2-Clause
int step(int x);

int calls;
static int count;

int step(int x)
{
	calls++;
	count += x;
	return x * 7 + (count & 3);
}
