/* SPDX-License-Identifier: BSD-2-Clause */
/* Links only if --gc-sections may drop what refers to undefined symbols. */
#include <stdio.h>

extern int never_defined(int);
extern int no_such_variable;

int dropped(int n)
{
	int x = 0;

	for (int i = 0; i < n; i++)
		x += never_defined(i);
	return x;
}

int *dropped_pointer = &no_such_variable;

static int state[4] = {1, 2, 3, 4};

int kept(int n)
{
	for (int i = 0; i < n; i++)
		state[i % 4] += i;
	return state[0] ^ state[3];
}

int (*volatile call)(int) = kept;

int main(void)
{
	printf("%d\n", call(100));
	return 0;
}
