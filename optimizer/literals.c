// SPDX-License-Identifier: BSD-2-Clause
#include <elf.h>
#include <string.h>

#include "ir.h"
#include "literals.h"

struct found {
	const uint8_t *whole, *tail;
	size_t n_whole, n_tails;
};

static void search(const struct halo_section *s, const char *text, size_t len, struct found *f)
{
	const uint8_t *at = s->data, *end = s->data + s->size;

	while ((at = memmem(at, (size_t)(end - at), text, len))) {
		if (at == s->data || at[-1] == '\0') {
			f->whole = at;
			f->n_whole++;
		} else {
			f->tail = at;
			f->n_tails++;
		}
		at++;
	}
}

static bool holds_literals(const struct halo_section *s)
{
	return s->data && s->type == SHT_PROGBITS && (s->flags & SHF_ALLOC) &&
	       !(s->flags & (SHF_WRITE | SHF_EXECINSTR)) && strncmp(s->name, ".rodata", 7) == 0;
}

static const char *text_of(LLVMValueRef var, size_t *len)
{
	LLVMValueRef init = LLVMGetInitializer(var);
	const char *text;

	if (!init || !LLVMIsAConstantDataSequential(init) || !LLVMIsConstantString(init))
		return NULL;
	text = LLVMGetAsString(init, len);
	return *len && text[*len - 1] == '\0' ? text : NULL;
}

bool literals__is(LLVMValueRef global)
{
	LLVMValueRef init = LLVMIsAGlobalVariable(global) ? LLVMGetInitializer(global) : NULL;

	return init && LLVMIsGlobalConstant(global) && resolve__is_local(global) &&
	       LLVMGetUnnamedAddress(global) == LLVMGlobalUnnamedAddr && !ir__holds_address(init);
}

bool literals__is_empty(LLVMValueRef literal)
{
	LLVMTypeRef type = LLVMGlobalGetValueType(literal);

	return LLVMIsNull(LLVMGetInitializer(literal)) &&
	       LLVMGetTypeKind(type) == LLVMArrayTypeKind && LLVMGetArrayLength2(type) == 1;
}

struct place literals__find(const struct halo_prepared *p, LLVMValueRef literal)
{
	struct place place = {.where = WHERE_NOWHERE};
	struct found f = {0};
	const uint8_t *at;
	const char *text;
	size_t len, i;

	text = text_of(literal, &len);
	for (i = 0; text && i < p->n_sections; i++)
		if (holds_literals(&p->sections[i]))
			search(&p->sections[i], text, len, &f);
	/* Linkers keep equal ones once, some of them as the end of a longer one. */
	at = f.n_whole == 1 ? f.whole : !f.n_whole && f.n_tails == 1 ? f.tail : NULL;
	if (at && halo_prepared__off_to_vaddr(p, (uint64_t)(at - p->map), &place.addr))
		place.where = WHERE_PROGRAM;
	return place;
}
