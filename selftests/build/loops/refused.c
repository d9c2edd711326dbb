// SPDX-License-Identifier: BSD-2-Clause
/* Loops that must keep their place, each in a function that main() calls once. */
#include <alloca.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static volatile int sink;

static int on_stack(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++) {
		char *p = alloca(16 + (size_t)i % 7);

		memset(p, i, 16);
		sum += p[sink];
	}
	return sum;
}

static int jumping(int n)
{
	static jmp_buf buf;
	volatile int i = 0, sum = 0;

	for (; i < n; i++) {
		if (!setjmp(buf) && i % 3 == 0)
			longjmp(buf, 1);
		sum += i;
	}
	return sum;
}

static int labels(int n)
{
	static const void *const to[] = {&&add, &&twice, &&less, &&end};
	int sum = 0, i = 0;

next:
	goto *to[i < n ? i++ % 3 : 3];
add:
	sum += i;
	goto next;
twice:
	sum += sum & 0xff;
	goto next;
less:
	sum -= 3;
	goto next;
end:
	return sum;
}

static int variadic(int n, ...)
{
	va_list list;
	int sum = 0;

	va_start(list, n);
	for (int i = 0; i < n; i++) {
		va_list copy;

		va_copy(copy, list);
		sum += va_arg(copy, int);
		va_end(copy);
	}
	va_end(list);
	return sum;
}

static int assembly(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++) {
		__asm__ goto("test %0, %0; jz %l1" : : "r"(i & 3) : "cc" : skip);
		sum += i;
		printf("%s", "");
skip:
		sum++;
	}
	return sum;
}

static int framed(int n)
{
	char *first = NULL;
	int same = 0;

	for (int i = 0; i < n; i++) {
		char *frame = __builtin_frame_address(0);

		first = first ?: frame;
		same += frame == first;
	}
	return same;
}

int main(int argc, char **argv)
{
	int n = 40000 + argc - 1;

	(void)argv;
	printf("on stack %d\n", on_stack(n));
	printf("jumping %d\n", jumping(n));
	printf("labels %d\n", labels(n));
	printf("variadic %d\n", variadic(n, 3));
	printf("assembly %d\n", assembly(n));
	printf("framed %d\n", framed(n));
	return 0;
}
