/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KERNEL_H
#define KERNEL_H

/*
 * What a program gives to the common main() in main.c. It is in another file on purpose, as most
 * hot code is: a function that main() has swallowed could not be switched.
 */
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Called once, before the first round; optional. */
void kernel__setup(void) __attribute__((weak));
/* One round's work; the result goes into the checksum. */
double kernel__round(uint64_t round);

#ifdef __cplusplus
}
#endif

#endif
