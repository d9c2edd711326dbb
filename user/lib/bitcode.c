// SPDX-License-Identifier: BSD-2-Clause
#include <zstd.h>

#include "prepared_internal.h"
#include "util.h"

/* Bitcode shrinks about fourfold; this is far beyond, for units with long runs of one byte. */
#define RATIO_MAX  1000ULL
#define RATIO_FREE (64ULL << 20) /* bytes for which the ratio does not matter */

static int check_sizes(const struct halo_unit *unit, struct halo_err *err)
{
	unsigned long long raw = unit->raw_size;

	if (raw == 0 || raw > HALO_BITCODE_MAX ||
	    (raw > RATIO_FREE && raw / RATIO_MAX > unit->bc_size))
		return halo_prepared__corrupt(err, "bitcode of %s claims to have %llu bytes",
					      unit->name, raw);
	if (ZSTD_getFrameContentSize(unit->bc, unit->bc_size) != raw ||
	    ZSTD_findFrameCompressedSize(unit->bc, unit->bc_size) != unit->bc_size)
		return halo_prepared__corrupt(err, "bitcode of %s is not one frame of its size",
					      unit->name);
	return 0;
}

int halo_unit__bitcode(const struct halo_unit *unit, uint8_t **out, struct halo_err *err)
{
	uint8_t *buf;
	size_t n;
	int ret;

	ret = check_sizes(unit, err);
	if (ret)
		return ret;
	buf = malloc(unit->raw_size);
	if (!buf)
		return halo_err__set(err, -ENOMEM, "no memory for the bitcode of %s", unit->name);
	n = ZSTD_decompress(buf, unit->raw_size, unit->bc, unit->bc_size);
	if (ZSTD_isError(n) || n != unit->raw_size) {
		free(buf);
		return halo_prepared__corrupt(err, "bitcode of %s can't be decompressed: %s",
					      unit->name,
					      ZSTD_isError(n) ? ZSTD_getErrorName(n) : "too short");
	}
	*out = buf;
	return 0;
}
