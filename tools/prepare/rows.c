// SPDX-License-Identifier: BSD-2-Clause
/*
 * Tables are module assembly, since globals in sections of their own would be loaded at run time.
 * A row of something that is in a section group is in that group too, so linkers drop both or
 * none; what it points to is named by labels, which are private to the assembly.
 */
#include <ctype.h>
#include <string.h>

#include <halo/prepared.h>
#include <llvm-c/Target.h>

#include "unit.h"

#define BYTES_PER_LINE 512

bool halo_rows__can_name(const char *name)
{
	if (!*name)
		return false;
	for (; *name; name++)
		if (*name == '"' || *name == '\\' || (unsigned char)*name < ' ')
			return false;
	return true;
}

static void write_symbol(FILE *f, LLVMValueRef value)
{
	const char *prefix = LLVMGetLinkage(value) == LLVMPrivateLinkage ? ".L" : "";

	fprintf(f, "\"%s%s\"", prefix, halo_value__name(value));
}

static void write_bytes(FILE *f, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t c = bytes[i];

		if (i % BYTES_PER_LINE == 0)
			fputs(i ? "\"\n\t.ascii \"" : "\t.ascii \"", f);
		if (c == '"' || c == '\\')
			fprintf(f, "\\%c", c);
		else if (c >= ' ' && c < 0x7f)
			fputc(c, f);
		else if (i + 1 < n && (i + 1) % BYTES_PER_LINE && isdigit(bytes[i + 1]))
			fprintf(f, "\\%03o", c);
		else
			fprintf(f, "\\%o", c);
	}
	fputs(n ? "\"\n" : "", f);
}

static unsigned write_string(struct halo_rows *r, const char *text)
{
	fprintf(r->f, "\t.section %s,\"MS\",@progbits,1\n.Lhalo.str.%u:\n", HALO_SEC_STR,
		r->n_strings);
	write_bytes(r->f, (const uint8_t *)text, strlen(text));
	fputs("\t.byte 0\n", r->f);
	return r->n_strings++;
}

/* Rows of retained sections hold what they refer to; only the unit's row does, and that is wanted. */
static void begin_row(struct halo_rows *r, const char *section, LLVMValueRef owner)
{
	LLVMComdatRef comdat = LLVMGetComdat(owner);
	const char *name;
	size_t len;

	if (!comdat) {
		fprintf(r->f, "\t.section %s,\"\",@progbits\n", section);
		return;
	}
	name = halo_comdat__name(comdat, &len);
	fprintf(r->f, "\t.section %s,\"G\",@progbits,\"%.*s\"%s\n", section, (int)len, name,
		LLVMGetComdatSelectionKind(comdat) == LLVMNoDeduplicateComdatSelectionKind
			? ""
			: ",comdat");
}

void halo_rows__unit(struct halo_rows *r, const char *source)
{
	const struct halo_unit_state *u = r->unit;
	unsigned name = write_string(r, source), major, minor, patch;

	LLVMGetVersion(&major, &minor, &patch);
	fprintf(r->f, "\t.section %s,\"\",@progbits\n.Lhalo.bc:\n", HALO_SEC_BC);
	write_bytes(r->f, u->bc, u->bc_size);
	fprintf(r->f, "\t.section %s,\"R\",@progbits\n", HALO_SEC_UNIT);
	fprintf(r->f, "\t.quad 0x%llx, 0x%llx\n", (unsigned long long)HALO_UNIT_MAGIC,
		(unsigned long long)u->id);
	fprintf(r->f, "\t.quad .Lhalo.bc, %zu, %zu\n", u->bc_size, u->raw_size);
	fprintf(r->f, "\t.long .Lhalo.str.%u, %u\n", name, u->o0 ? HALO_UNIT_O0 : 0);
	fprintf(r->f, "\t.short %u, %u\n\t.long 0\n", HALO_FORMAT_VERSION, major);
}

void halo_rows__func(struct halo_rows *r, LLVMValueRef func, LLVMValueRef at, LLVMValueRef slot,
		     unsigned flags, unsigned reason)
{
	unsigned name = write_string(r, halo_value__name(func));

	begin_row(r, HALO_SEC_FUNC, func);
	fputs("\t.quad ", r->f);
	write_symbol(r->f, at);
	fputs("\n\t.quad ", r->f);
	if (slot)
		write_symbol(r->f, slot);
	else
		fputs("0", r->f);
	fprintf(r->f, "\n\t.quad 0x%llx\n\t.long .Lhalo.str.%u\n\t.short %u, %u\n",
		(unsigned long long)r->unit->id, name, flags, reason);
}

void halo_rows__var(struct halo_rows *r, LLVMValueRef var, const struct halo_origin_var *origin)
{
	unsigned name = write_string(r, halo_value__name(var)), flags = 0;

	if (halo_value__is_local(var))
		flags |= HALO_VAR_LOCAL;
	if (LLVMIsThreadLocal(var))
		flags |= HALO_VAR_TLS;
	if (origin->constant)
		flags |= HALO_VAR_CONST;
	begin_row(r, HALO_SEC_VAR, var);
	fputs("\t.quad ", r->f);
	write_symbol(r->f, var);
	fprintf(r->f, "%s\n\t.quad %llu, 0x%llx\n\t.long .Lhalo.str.%u, %u\n",
		flags & HALO_VAR_TLS ? "@dtpoff" : "", (unsigned long long)origin->size,
		(unsigned long long)r->unit->id, name, flags);
}
