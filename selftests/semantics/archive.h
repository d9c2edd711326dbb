/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SEM_ARCHIVE_H
#define SEM_ARCHIVE_H

#include "sem.h"

long archive_add(long a, long b);
long archive_twice(long a);
long archive_uses(void);

#endif
