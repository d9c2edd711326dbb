// SPDX-License-Identifier: BSD-2-Clause
/* Names that are more than a function: weak ones, aliases, ifuncs, names in assembly; and addresses. */
#include <string.h>

#include "sem.h"

static long base = 3;

SEM_NOINLINE __attribute__((weak)) long weak_default(int n)
{
	long sum = -1;
	int i;

	SEM_HERE("weak_default");
	for (i = 0; i < n; i++)
		sum -= i & n;
	return sum;
}

long weak_strong(int n) __attribute__((weak));
long weak_missing(int n) __attribute__((weak));

static SEM_NOINLINE long call_weak(int n)
{
	long sum = 0;
	int i;

	SEM_HERE("call_weak");
	for (i = 0; i < n; i++)
		sum += weak_default(i) + weak_strong(i);
	return sum;
}

static SEM_NOINLINE long call_missing(int n)
{
	long sum = 0;
	int i;

	for (i = 0; i < n; i++)
		sum += weak_missing ? weak_missing(i) : i;
	return sum;
}

static SEM_NOINLINE long aliased(int n)
{
	long sum = 1;
	int i;

	SEM_HERE("aliased");
	for (i = 0; i < n; i++)
		sum = sum * 3 + (i ^ base);
	return sum;
}
long alias_of(int n) __attribute__((alias("aliased")));
long weak_alias_of(int n) __attribute__((weak, alias("aliased")));
extern long base_alias __attribute__((alias("base")));

static SEM_NOINLINE long call_aliases(int n)
{
	long sum = 0;
	int i;

	SEM_HERE("call_aliases");
	for (i = 0; i < n; i++)
		sum = sum * 5 + alias_of(i) - weak_alias_of(i + 1) + base_alias;
	return sum + (alias_of == aliased);
}

static SEM_NOINLINE long chosen_one(int n)
{
	long sum = 2;
	int i;

	SEM_HERE("chosen_one");
	for (i = 0; i < n; i++)
		sum = sum * 7 ^ i;
	return sum;
}

static long (*resolve_chosen(void))(int)
{
	return chosen_one;
}
long chosen(int n) __attribute__((ifunc("resolve_chosen")));

static SEM_NOINLINE long call_chosen(int n)
{
	long sum = 0;
	int i;

	for (i = 0; i < n; i++)
		sum += chosen(i);
	return sum;
}

/* Of every version of these the address is the same. */
static SEM_NOINLINE long target_a(int n)
{
	long sum = 0;
	int i;

	SEM_HERE("target_a");
	for (i = 0; i < n; i++)
		sum += n ^ i >> 1;
	return sum;
}

SEM_NOINLINE long target_b(int n)
{
	long sum = 0;
	int i;

	SEM_HERE("target_b");
	for (i = 0; i < n; i++)
		sum += (n & i) * n;
	return sum;
}

static long (*kept)(int) = target_a;

static SEM_NOINLINE long (*pick(int n))(int)
{
	int i, bits = 0;

	SEM_HERE("pick");
	for (i = 0; i < 8; i++)
		bits ^= n >> i & 1;
	return bits ? target_a : target_b;
}

static SEM_NOINLINE long identity(int n)
{
	long sum = 0;
	int i;

	SEM_HERE("identity");
	for (i = 0; i < n; i++) {
		sum = sum * 3 + (kept == target_a) + 2 * (pick(i) == target_b) +
		      4 * (pick(i) == pick(i ^ 3));
		kept = pick(i);
		sum += kept(i & 7);
	}
	kept = target_a;
	return sum;
}

/* Assembly that names things of the program: one with a symbol of its own, and one by operand. */
long asm_counter __attribute__((used)) = 5;

static SEM_NOINLINE long by_operand(int n)
{
	long sum = 0;
	int i;

	SEM_HERE("by_operand");
	for (i = 0; i < n; i++) {
		long got;

		__asm__ volatile("movq %1, %0" : "=r"(got) : "m"(asm_counter));
		sum = sum * 3 + got + i;
	}
	return sum;
}

static SEM_NOINLINE long by_name(int n)
{
	long sum = 0;
	int i;

	SEM_HERE("by_name");
	for (i = 0; i < n; i++) {
		long got;

		__asm__ volatile("movq asm_counter(%%rip), %0" : "=r"(got));
		sum = sum * 5 + got + i;
	}
	return sum;
}

static SEM_NOINLINE long with_labels(int n)
{
	long count, sum = 0;
	int i;

	SEM_HERE("with_labels");
	for (i = 1; i < n; i++) {
		__asm__ volatile("xorl %k0, %k0\n"
				 "1:\taddq $3, %0\n\tdecl %1\n\tjg 1b\n"
				 ".Lsem%=:"
				 : "=&r"(count), "+r"((int){i})::"cc");
		sum = sum * 7 + count;
	}
	return sum;
}

static SEM_NOINLINE long with_goto(int n)
{
	long sum = 0;
	int i;

	SEM_HERE("with_goto");
	for (i = 0; i < n; i++) {
		__asm__ goto("testl $1, %0\n\tjnz %l[odd]" ::"r"(i) : "cc" : odd);
		sum += 3 * i;
		continue;
odd:
		sum ^= i;
	}
	return sum;
}

long renamed_function(int n) __asm__("another_name");
long renamed_variable __asm__("another_variable") = 9;

SEM_NOINLINE long renamed_function(int n)
{
	long sum = 0;
	int i;

	SEM_HERE("renamed_function");
	for (i = 0; i < n; i++)
		sum += (i ^ n) & renamed_variable;
	return sum;
}

SEM_CASE(symbols)
{
	sem_print("  %ld %ld\n", call_weak(20), call_missing(9));
	sem_print("  %ld %ld\n", call_aliases(15), call_chosen(12));
	sem_print("  %ld\n", identity(40));
	sem_print("  %ld %ld %ld %ld\n", by_operand(9), by_name(8), with_labels(12), with_goto(9));
	sem_print("  %ld\n", renamed_function(20));
}
