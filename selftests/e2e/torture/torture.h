/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TORTURE_CASES_H
#define TORTURE_CASES_H

/*
 * Functions that are easy to compile into something else, to be switched while they run. Each takes
 * the number of the round and gives a number that depends on it and on state that the rounds before
 * have left, and on nothing else.
 */
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define C_CASES(X)       \
	X(same_names)    \
	X(same_names2)   \
	X(thread_state)  \
	X(identity)      \
	X(literals)      \
	X(aliases)       \
	X(renamed)       \
	X(jump_tables)   \
	X(variadic)      \
	X(by_value)      \
	X(callbacks)     \
	X(pointer_table) \
	X(tail_calls)    \
	X(computed)      \
	X(assembly)      \
	X(jumps)         \
	X(signals)       \
	X(arrays)        \
	X(ackermann)     \
	X(children)      \
	X(cpu)           \
	X(wide_integers) \
	X(long_doubles)  \
	X(conversions)   \
	X(narrow)        \
	X(shifts)        \
	X(contraction)   \
	X(math_errno)    \
	X(rounding)      \
	X(fast)          \
	X(complexes)     \
	X(halves)        \
	X(library_loops) \
	X(bit_fields)    \
	X(atomics)

/* Not in a program of C alone, whose functions no exception passes through. */
#define CXX_CASES(X)  \
	X(objects)    \
	X(guards)     \
	X(exceptions) \
	X(templates)  \
	X(thrown_through)

#ifdef ONLY_C
#define CASES C_CASES
#else
#define CASES(X) C_CASES(X) CXX_CASES(X)
#endif

#define DECLARE(name) uint64_t name(int round);
C_CASES(DECLARE)
CXX_CASES(DECLARE)
#undef DECLARE

static inline uint64_t mix(uint64_t h, uint64_t v)
{
	return (h ^ v) * 0x100000001b3ULL;
}

/* Has a copy with state of its own in each unit that includes it. */
static inline int header_counter(int n)
{
	static int count;
	int i;

	for (i = 0; i < n; i++)
		count += i & 3 ? 1 : count & 7;
	return count &= 0xffff;
}

extern _Thread_local int shared_local;
int weak_one(int n);
int weak_other(int n) __attribute__((weak));
extern const char *const shared_name;
const char *name_of(int n);
int (*shared_function(int n))(int);
int alias_of(int n);
int each(int *list, int n, int (*fn)(int));

#ifdef __cplusplus
}
#endif

#endif
