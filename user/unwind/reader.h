/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_UNWIND_READER_H
#define HALO_UNWIND_READER_H

/* Bytes that are read one after the other, and never past their end: then all that is read is 0. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct reader {
	const uint8_t *data;
	size_t at, end;
	bool failed; /* something lay past the end */
};

static inline bool reader__has(struct reader *r, size_t n)
{
	if (r->failed || n > r->end - r->at)
		r->failed = true;
	return !r->failed;
}

static inline uint64_t reader__fixed(struct reader *r, size_t n)
{
	uint64_t value = 0;

	if (!reader__has(r, n))
		return 0;
	memcpy(&value, r->data + r->at, n);
	r->at += n;
	return value;
}

static inline uint8_t reader__u8(struct reader *r)
{
	return r->at < r->end && !r->failed ? r->data[r->at++] : reader__fixed(r, 1);
}

static inline uint64_t reader__uleb(struct reader *r)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = reader__u8(r);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !r->failed);
	return value;
}

static inline int64_t reader__sleb(struct reader *r)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = reader__u8(r);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !r->failed);
	if (shift < 64 && byte & 0x40)
		value |= ~0ULL << shift;
	return (int64_t)value;
}

#endif
