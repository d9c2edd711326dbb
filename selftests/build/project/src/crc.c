// SPDX-License-Identifier: BSD-2-Clause
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "crc.h"

static unsigned long calls;

unsigned int crc_update(unsigned int crc, const void *data, size_t size)
{
	const unsigned char *bytes = data;

	calls++;
	for (size_t i = 0; i < size; i++)
		crc = crc_table[(crc ^ bytes[i]) & 255] ^ crc >> 8;
	return crc;
}

unsigned long crc_calls(void)
{
	return calls;
}
