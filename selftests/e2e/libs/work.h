/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORK_H
#define WORK_H

/* The library's interface: hot work on state that the library keeps. */
#include <stddef.h>

unsigned long work(const unsigned int *v, size_t n);
unsigned long work_total(void);

#endif
