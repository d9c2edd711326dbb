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

static int append_row(LLVMModuleRef ref, const struct halo_unit_blob *blob)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return -ENOMEM;
	halo_rows__unit(f, blob);
	if (fclose(f)) {
		free(text);
		return -ENOMEM;
	}
	LLVMAppendModuleInlineAsm(ref, text, size);
	free(text);
	return 0;
}

int halo_unit__embed(LLVMModuleRef ref, bool o0, uint64_t *id)
{
	size_t room, size, source_len;
	const char *source = LLVMGetSourceFileName(ref, &source_len);
	LLVMMemoryBufferRef raw = LLVMWriteBitcodeToMemoryBuffer(ref);
	size_t raw_size = LLVMGetBufferSize(raw);
	uint8_t *bc;
	int err;

	room = ZSTD_compressBound(raw_size);
	bc = malloc(room);
	if (!bc) {
		err = -ENOMEM;
		goto cleanup;
	}
	size = ZSTD_compress(bc, room, LLVMGetBufferStart(raw), raw_size, COMPRESSION_LEVEL);
	if (ZSTD_isError(size)) {
		err = -ENOMEM;
		goto cleanup;
	}
	*id = hash_unit(LLVMGetBufferStart(raw), raw_size, source, source_len);
	err = append_row(ref, &(struct halo_unit_blob){
				      .source = source,
				      .id = *id,
				      .bc = bc,
				      .bc_size = size,
				      .raw_size = raw_size,
				      .o0 = o0,
			      });
cleanup:
	free(bc);
	LLVMDisposeMemoryBuffer(raw);
	return err;
}
