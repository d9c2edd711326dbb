/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef STATE_H
#define STATE_H

/* A library with state of all kinds, of which there is one each whatever code works on it. */
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

extern int exported; /* the program has its own copy, and changes it */
int hook(int x);     /* the program has its own, which is the one to call */
unsigned long step(const unsigned int *v, size_t n);
unsigned long thread_step(const unsigned int *v, size_t n);

#ifdef __cplusplus
}
#endif

#endif
