// SPDX-License-Identifier: BSD-2-Clause
/* Computed goto, as interpreters use it, with all kinds of tables. */
#include <string.h>

#include "sem.h"

static const unsigned char code[] = {0, 1, 3, 2, 0, 0, 3, 1, 2, 3, 1, 2, 0, 1, 1, 3, 2, 2};

static SEM_NOINLINE unsigned long static_table(unsigned int a, int n)
{
	static const void *const labels[] = {&&increment, &&twice, &&flip, &&next};
	unsigned long h = 1;
	int pc = 0;

	SEM_HERE("static_table");
	goto *labels[code[pc]];
increment:
	a++;
	goto next;
twice:
	a *= 2;
	goto next;
flip:
	a ^= 0xff;
next:
	h = sem_mix(h, a);
	if (++pc < n)
		goto *labels[code[pc % sizeof(code)]];
	return h;
}

/* Each instruction jumps by itself. */
static SEM_NOINLINE unsigned long threaded(unsigned int a, int n)
{
	static void *labels[] = {&&increment, &&twice, &&flip, &&shift};
	unsigned long h = 1;
	int pc = -1;

	SEM_HERE("threaded");
#define NEXT()                                         \
	do {                                           \
		h = sem_mix(h, a);                     \
		if (++pc == n)                         \
			return h;                      \
		goto *labels[code[pc % sizeof(code)]]; \
	} while (0)
	NEXT();
increment:
	a++;
	NEXT();
twice:
	a *= 2;
	NEXT();
flip:
	a ^= 0xff;
	NEXT();
shift:
	a >>= 1;
	NEXT();
#undef NEXT
}

/* The table is distances, which no process changes. */
static SEM_NOINLINE unsigned long distances(unsigned int a, int n)
{
	static const int labels[] = {&&increment - &&increment, &&twice - &&increment,
				     &&flip - &&increment, &&next - &&increment};
	unsigned long h = 1;
	int pc = 0;

	SEM_HERE("distances");
	goto *(&&increment + labels[code[pc]]);
increment:
	a++;
	goto next;
twice:
	a *= 2;
	goto next;
flip:
	a ^= 0xff;
next:
	h = sem_mix(h, a);
	if (++pc < n)
		goto *(&&increment + labels[code[pc % sizeof(code)]]);
	return h;
}

/* Labels in variables of the function. */
static SEM_NOINLINE unsigned long by_variable(unsigned int a, int n)
{
	void *where = &&odd, *after[3];
	unsigned long h = 1;
	int i;

	SEM_HERE("by_variable");
	after[0] = &&odd;
	after[1] = &&even;
	after[2] = &&done;
	for (i = 0; i < n; i++)
		a = a * 5 + 1;
	goto *where;
odd:
	a += 3;
	where = after[1 + (a & 1)];
	h = sem_mix(h, a);
	if (n-- <= 0)
		goto done;
	goto *where;
even:
	a = a * 3 + 1;
	h = sem_mix(h, a);
	goto *after[a & 1];
done:
	return sem_mix(h, n);
}

/* Translated once, as "direct threaded" interpreters do: the labels outlive the call. */
struct op {
	void *label;
	int arg;
};

static struct op program[8];
static int translated;

static SEM_NOINLINE long direct_threaded(long a)
{
	static void *const labels[] = {&&add, &&mul, &&end};
	const struct op *pc = program;
	int i;

	SEM_MAYBE("direct_threaded");
	if (!translated) {
		for (i = 0; i < 8; i++)
			program[i] = (struct op){labels[i == 7 ? 2 : i & 1], i + 2};
		translated = 1;
	}
	goto * pc->label;
add:
	a += pc->arg;
	goto *(++pc)->label;
mul:
	a *= pc->arg;
	goto *(++pc)->label;
end:
	return a;
}

/* The stack machine's dispatch is shared with a switch, and its callee has labels too. */
static SEM_NOINLINE long nested(long a, int n)
{
	static void *const labels[] = {&&one, &&two, &&three};
	int i = 0;

	SEM_HERE("nested");
loop:
	if (i == n)
		return a;
	switch (i & 7) {
	case 0:
		a += (long)(static_table(a, 4) & 0xff);
		break;
	case 1:
		a ^= 5;
		break;
	case 2:
		a *= 3;
		break;
	case 5:
		a -= 7;
		break;
	default:
		break;
	}
	goto *labels[i++ % 3];
one:
	a++;
	goto loop;
two:
	a <<= 1;
	goto loop;
three:
	a &= 0xffffff;
	goto loop;
}

SEM_CASE(computed_goto)
{
	unsigned long h[6] = {0};
	int i;

	for (i = 0; i < 40; i++) {
		h[0] = sem_mix(h[0], static_table(i, 30 + i));
		h[1] = sem_mix(h[1], threaded(i, 30 + i));
		h[2] = sem_mix(h[2], distances(i, 30 + i));
		h[3] = sem_mix(h[3], by_variable(i, i & 15));
		h[4] = sem_mix(h[4], direct_threaded(i));
		h[5] = sem_mix(h[5], nested(i, 20 + i));
	}
	sem_print("  %lx %lx %lx %lx %lx %lx\n", h[0], h[1], h[2], h[3], h[4], h[5]);
}
