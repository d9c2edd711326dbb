/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UNWIND_CASES_H
#define UNWIND_CASES_H

/*
 * Functions that exceptions begin in, end in or pass. All take a number, which says what goes wrong, and
 * give a checksum unless they throw. cases.cpp and cleanup.c are prepared, the rest is not.
 */
#ifdef __cplusplus
#include <stdexcept>
#include <string>

struct Base {
	explicit Base(int v) : value(v)
	{
	}
	virtual ~Base() = default;
	int value;
};
struct Derived : Base {
	using Base::Base;
};
struct Failure : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/* Counts its ends, which happen in variants' cleanups. */
extern "C" long guards_ended;
struct Guard {
	explicit Guard(int w) : weight(w)
	{
	}
	~Guard()
	{
		guards_ended += weight;
	}
	int weight;
};

extern "C" {
#endif

#define CASES(X)          \
	X(throws)         \
	X(passes)         \
	X(catches)        \
	X(catches_all)    \
	X(rethrows)       \
	X(cleans_up)      \
	X(through_c)      \
	X(cleans_up_in_c) \
	X(local_types)    \
	X(nests)          \
	X(keeps)          \
	X(traced)         \
	X(library)

/* Through which threads end. */
#define ENDS(X)        \
	X(thread_exit) \
	X(cancelled)   \
	X(spinning)

#define DECLARE(name) long name(int n);
CASES(DECLARE)
ENDS(DECLARE)
#undef DECLARE

/* plain.c: C without -fexceptions, through which callbacks throw all the same */
long plain_calls(long (*fn)(int n), int n);

/* outside.cpp */
long outside(int n);	     /* throws one of many, by its number, or none */
int outside_trace(void);     /* does a backtrace lead to the caller of the case? */
void outside_leave(void);    /* pthread_exit() */
void outside_wait(void);     /* a cancellation point */
void outside_began(void);    /* the thread may be cancelled now, at a cancellation point */
void outside_anywhere(void); /* or anywhere, from now on */
extern void *outside_bottom; /* where the case was called from */
extern long (*outside_library)(int n); /* the same as outside(), of a library loaded later */

#ifdef __cplusplus
}
#endif

#endif
