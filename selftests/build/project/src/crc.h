/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRC_H
#define CRC_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

extern const unsigned int crc_table[256];

unsigned int crc_update(unsigned int crc, const void *data, size_t size);
/* How often crc_update() was called. */
unsigned long crc_calls(void);
int rotate(int value, int by); /* rotate.S */

#ifdef __cplusplus
}
#endif

#endif
