// SPDX-License-Identifier: BSD-2-Clause
/*
 * The entry is prologue data, that is, bytes between a function's label and its code:
 *
 *	[endbr64]
 *	jmp *slot(%rip)
 *	int3 up to HALO_ENTRY_SIZE
 */
#include <stdio.h>
#include <string.h>

#include <halo/prepared.h>

#include "unit.h"

static const unsigned char endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
static const unsigned char jmp_indirect[] = {0xff, 0x25};

static LLVMValueRef const_bytes(LLVMContextRef ctx, const unsigned char *bytes, unsigned n)
{
	return LLVMConstStringInContext2(ctx, (const char *)bytes, n, true);
}

static LLVMValueRef address_plus(LLVMContextRef ctx, LLVMValueRef base, unsigned offset)
{
	LLVMTypeRef i8 = LLVMInt8TypeInContext(ctx);
	LLVMValueRef index = LLVMConstInt(LLVMInt64TypeInContext(ctx), offset, false);

	return offset ? LLVMConstGEP2(i8, base, &index, 1) : base;
}

/* to - from, as 32 bits. */
static LLVMValueRef displacement(LLVMContextRef ctx, LLVMValueRef to, LLVMValueRef from)
{
	LLVMTypeRef i64 = LLVMInt64TypeInContext(ctx);
	LLVMValueRef difference = LLVMConstSub(LLVMConstPtrToInt(to, i64),
					       LLVMConstPtrToInt(from, i64));

	return LLVMConstTrunc(difference, LLVMInt32TypeInContext(ctx));
}

static LLVMValueRef entry_code(const struct halo_module *m, LLVMValueRef at, LLVMValueRef slot)
{
	unsigned char pad[HALO_ENTRY_SIZE], head[sizeof(endbr64) + sizeof(jmp_indirect)];
	unsigned n_head = 0, jump_end;
	LLVMValueRef parts[3];

	if (m->ibt) {
		memcpy(head, endbr64, sizeof(endbr64));
		n_head = sizeof(endbr64);
	}
	memcpy(head + n_head, jmp_indirect, sizeof(jmp_indirect));
	n_head += sizeof(jmp_indirect);
	jump_end = n_head + 4;
	memset(pad, 0xcc, sizeof(pad));

	parts[0] = const_bytes(m->ctx, head, n_head);
	parts[1] = displacement(m->ctx, slot, address_plus(m->ctx, at, jump_end));
	parts[2] = const_bytes(m->ctx, pad, HALO_ENTRY_SIZE - jump_end);
	return LLVMConstStructInContext(m->ctx, parts, 3, true);
}

LLVMValueRef halo_func__local_name(const struct halo_module *m, LLVMValueRef func)
{
	char name[512];
	LLVMValueRef alias;

	if (halo_value__is_local(func))
		return func;
	snprintf(name, sizeof(name), "halo.at.%s", halo_value__name(func));
	alias = LLVMAddAlias2(m->ref, LLVMInt8TypeInContext(m->ctx), 0, func, name);
	LLVMSetLinkage(alias, LLVMPrivateLinkage);
	return alias;
}

LLVMValueRef halo_func__make_entry(const struct halo_module *m, LLVMValueRef func, LLVMValueRef at)
{
	LLVMTypeRef ptr = LLVMPointerTypeInContext(m->ctx, 0);
	char name[512];
	LLVMValueRef slot;

	snprintf(name, sizeof(name), "halo.slot.%s", halo_value__name(func));
	slot = LLVMAddGlobal(m->ref, ptr, name);
	LLVMSetLinkage(slot, LLVMPrivateLinkage);
	LLVMSetInitializer(slot, address_plus(m->ctx, at, HALO_ENTRY_SIZE));
	LLVMSetSection(slot, HALO_SEC_SLOTS);
	LLVMSetAlignment(slot, sizeof(uint64_t));
	LLVMSetComdat(slot, LLVMGetComdat(func));
	LLVMSetPrologueData(func, entry_code(m, at, slot));
	return slot;
}
