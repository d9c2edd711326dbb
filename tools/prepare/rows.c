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

static void write_text(FILE *f, const char *text)
{
	write_bytes(f, (const uint8_t *)text, strlen(text));
	fputs("\t.byte 0\n", f);
}

static unsigned write_string(struct halo_rows *r, const char *text)
{
	fprintf(r->f, "\t.section %s,\"MS\",@progbits,1\n.Lhalo.str.%u:\n", HALO_SEC_STR,
		r->n_strings);
	write_text(r->f, text);
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

/*
 * Written before the module may be linked with others into one, so its labels are numbers, which may
 * be used again.
 */
void halo_rows__unit(FILE *f, const struct halo_unit_blob *blob)
{
	unsigned major, minor, patch;

	LLVMGetVersion(&major, &minor, &patch);
	fprintf(f, "\t.section %s,\"MS\",@progbits,1\n1:\n", HALO_SEC_STR);
	write_text(f, blob->source);
	fprintf(f, "\t.section %s,\"\",@progbits\n2:\n", HALO_SEC_BC);
	write_bytes(f, blob->bc, blob->bc_size);
	fprintf(f, "\t.section %s,\"R\",@progbits\n", HALO_SEC_UNIT);
	fprintf(f, "\t.quad 0x%llx, 0x%llx\n", (unsigned long long)HALO_UNIT_MAGIC,
		(unsigned long long)blob->id);
	fprintf(f, "\t.quad 2b, %zu, %zu\n", blob->bc_size, blob->raw_size);
	fprintf(f, "\t.long 1b, %u\n", blob->o0 ? HALO_UNIT_O0 : 0);
	fprintf(f, "\t.short %u, %u\n\t.long 0\n\t.text\n", HALO_FORMAT_VERSION, major);
}

void halo_rows__func(struct halo_rows *r, LLVMValueRef func, const struct halo_func_facts *facts)
{
	unsigned name = write_string(r, facts->name);

	begin_row(r, HALO_SEC_FUNC, func);
	fputs("\t.quad ", r->f);
	write_symbol(r->f, facts->at);
	fputs("\n\t.quad ", r->f);
	if (facts->slot)
		write_symbol(r->f, facts->slot);
	else
		fputs("0", r->f);
	fprintf(r->f, "\n\t.quad 0x%llx\n\t.long .Lhalo.str.%u\n\t.short %u, %u\n",
		(unsigned long long)facts->unit, name, facts->flags, facts->reason);
}

void halo_rows__var(struct halo_rows *r, LLVMValueRef var, const struct halo_origin *origin)
{
	unsigned name = write_string(r, origin->name), flags = 0;

	if (origin->flags & HALO_ORIGIN_LOCAL)
		flags |= HALO_VAR_LOCAL;
	if (LLVMIsThreadLocal(var))
		flags |= HALO_VAR_TLS;
	if (origin->flags & HALO_ORIGIN_CONST)
		flags |= HALO_VAR_CONST;
	begin_row(r, HALO_SEC_VAR, var);
	fputs("\t.quad ", r->f);
	write_symbol(r->f, var);
	fprintf(r->f, "%s\n\t.quad %llu, 0x%llx\n\t.long .Lhalo.str.%u, %u\n",
		flags & HALO_VAR_TLS ? "@dtpoff" : "", (unsigned long long)origin->value,
		(unsigned long long)origin->unit, name, flags);
}
