/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OPT_CASES_H
#define OPT_CASES_H

/*
 * Functions that a variant can get wrong, each in its own way. All take a number and give a
 * checksum, which depends on state that calls leave behind.
 */
#include <stdint.h>

#define CASES(X)             \
	X(noise)             \
	X(multiply_add)      \
	X(state)             \
	X(thread_locals)     \
	X(pointer_identity)  \
	X(pointer_table)     \
	X(imported_math)     \
	X(strings)           \
	X(sorting)           \
	X(recursion)         \
	X(imported_data)     \
	X(wide_division)     \
	X(big_structs)       \
	X(variadic)          \
	X(two_units)         \
	X(out_of_range)      \
	X(switch_of_strings) \
	X(switch_of_data)    \
	X(long_jump)         \
	X(dynamic_arrays)    \
	X(long_doubles)      \
	X(assembly)          \
	X(common_names)      \
	X(local_root)        \
	X(computed_goto)     \
	X(wide_vectors)

/* Which a variant must not have. */
#define REFUSED(X)   \
	X(fast_math) \
	X(loop_hint) \
	X(weak_reference)

#define DECLARE(name) uint64_t name(int n);
CASES(DECLARE)
REFUSED(DECLARE)
#undef DECLARE

/* other.c */
extern int shared_counter;
extern _Thread_local int shared_local;
uint64_t other_state(int n);
int other_even(int n);
int this_odd(int n);

/* In cases.c, called by main.c through a pointer. */
extern uint64_t (*const local_root_entry)(int n);

#endif
