/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SEM_H
#define SEM_H

/*
 * What a case is made of. A case prints, round after round, what may not depend on which versions of
 * its functions run; every round must print the same. At places that matter it calls SEM_HERE(), which
 * notes whether the code around it is the program's or a variant's: so that a case can't pass
 * because nothing was switched.
 */
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SEM_NOINLINE __attribute__((noinline))

struct sem_case {
	const char *name;
	void (*round)(void);
	void (*last)(void); /* once, after all rounds; may be NULL */
	struct sem_case *next;
};

void sem_register(struct sem_case *c);
/* Into the output of the round. Not for children. */
void sem_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Async-signal-safe, and counted in forked children too. */
void sem_here(const char *tag);
/* Is the code at @addr of a variant? Asks for the objects anew after dlopen() if @anew. */
int sem_is_variant(const void *addr, int anew);
/* Calls it, from code that is never switched. */
long sem_call(long (*fn)(void *), void *arg);

static inline uint64_t sem_mix(uint64_t h, uint64_t v)
{
	return (h ^ v) * 0x100000001b3ULL;
}

extern int sem_few;

/* A loop that no compiler computes ahead: makes its function worth a slot. */
static inline uint64_t sem_work(uint64_t h)
{
	int i;

	for (i = 0; i < sem_few; i++)
		h = sem_mix(h ^ h >> 7, (uint64_t)i * sem_few + (h & 3 ? 1 : h >> 3));
	return h;
}

/* Not as the last thing in a function: a tail call would tell of the caller. */
#define SEM_HERE(tag)                                    \
	do {                                             \
		sem_here(tag);                           \
		__asm__ volatile("" ::"r"(sem_work(1))); \
	} while (0)

/* Where there need not be a variant: of a function that is refused one, at some levels at least. */
#define SEM_MAYBE(tag) SEM_HERE("?" tag)

/* Defines the case of this name, and the functions that make it up. */
#define SEM_CASE_LAST(NAME, LAST)                                               \
	static void round_of_##NAME(void);                                      \
	static struct sem_case case_##NAME = {#NAME, round_of_##NAME, LAST, 0}; \
	__attribute__((constructor)) static void register_##NAME(void)          \
	{                                                                       \
		sem_register(&case_##NAME);                                     \
	}                                                                       \
	static void round_of_##NAME(void)
#define SEM_CASE(NAME) SEM_CASE_LAST(NAME, 0)

#ifdef __cplusplus
}
#endif

#endif
