// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/BitWriter.h>
#include <sha2.h>
#include <zstd.h>

#include "unit.h"

#define COMPRESSION_LEVEL 9

static uint64_t hash_unit(const char *bitcode, size_t size, const char *source, size_t source_len)
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	SHA2_CTX ctx;
	uint64_t id;

	SHA256Init(&ctx);
	SHA256Update(&ctx, (const uint8_t *)source, source_len);
	SHA256Update(&ctx, (const uint8_t *)bitcode, size);
	SHA256Final(digest, &ctx);
	memcpy(&id, digest, sizeof(id));
	return id;
}

int halo_unit__embed(struct halo_unit_state *u)
{
	size_t room, size, source_len;
	const char *source = LLVMGetSourceFileName(u->ref, &source_len);
	LLVMMemoryBufferRef raw = LLVMWriteBitcodeToMemoryBuffer(u->ref);
	int err = 0;

	u->raw_size = LLVMGetBufferSize(raw);
	u->id = hash_unit(LLVMGetBufferStart(raw), u->raw_size, source, source_len);
	room = ZSTD_compressBound(u->raw_size);
	u->bc = malloc(room);
	if (!u->bc) {
		err = -ENOMEM;
		goto cleanup;
	}
	size = ZSTD_compress(u->bc, room, LLVMGetBufferStart(raw), u->raw_size, COMPRESSION_LEVEL);
	if (ZSTD_isError(size)) {
		err = -EIO;
		goto cleanup;
	}
	u->bc_size = size;
cleanup:
	LLVMDisposeMemoryBuffer(raw);
	return err;
}
