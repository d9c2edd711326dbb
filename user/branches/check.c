// SPDX-License-Identifier: BSD-2-Clause
#include <Zydis/Zydis.h>

#include "check.h"

#define MAX_SIZE (1UL << 20) /* bytes; longer ranges than any function's are not looked through */

/* Nothing comes after it but by another branch. */
static bool ends_here(const ZydisDecodedInstruction *insn)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_JMP:
	case ZYDIS_MNEMONIC_RET:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
		return true;
	default:
		return false;
	}
}

static enum halo_check decode(const uint8_t *bytes, size_t size, size_t end)
{
	ZydisDecodedInstruction insn;
	ZydisDecoder decoder;
	size_t at = 0;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	while (at < end) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes + at,
								size - at, &insn)))
			return HALO_CHECK_NOT_CODE;
		if (ends_here(&insn))
			return HALO_CHECK_CROSS_JUMP;
		at += insn.length;
	}
	/* The instruction at its end may be none that branches: interrupts come anywhere. */
	return at == end ? HALO_RANGE_GOOD : HALO_CHECK_NOT_CODE;
}

enum halo_check halo_range__check(const struct halo_code *code, uint64_t begin, uint64_t end)
{
	uint64_t first, last;
	const uint8_t *bytes;
	size_t size;

	if (code->function(code->ctx, begin, &first, &last) && (end < first || end >= last))
		return HALO_CHECK_CROSS_FUNCTION;
	bytes = code->bytes(code->ctx, begin, &size);
	if (!bytes || end < begin || end - begin > MAX_SIZE)
		return HALO_CHECK_UNCHECKED;
	if (end - begin >= size)
		return HALO_CHECK_NOT_CODE;
	return decode(bytes, size, end - begin);
}
