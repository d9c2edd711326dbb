/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROBE_H
#define PROBE_H

void probe_begin(const char *what);
unsigned long probe(unsigned long h);
int probe_ended(void);

#endif
