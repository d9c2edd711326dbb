/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORK_H
#define WORK_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t (*transform)(uint64_t);

uint64_t twice(uint64_t x);
uint64_t square(uint64_t x);
uint64_t seldom(uint64_t x);
uint64_t copy(unsigned char *to, const unsigned char *from, size_t n);
uint64_t work(uint64_t seed);

/* For others to see, so that no compiler knows what is in there. */
extern transform transforms[2];

#endif
