// SPDX-License-Identifier: BSD-2-Clause
/* Functions that were inlined, and the rows of the line table, from DWARF. */
#include <dwarf.h>
#include <string.h>

#include "internal.h"

#ifndef DW_AT_GNU_discriminator
#define DW_AT_GNU_discriminator 0x2136 /* of a call that was inlined; LLVM writes it */
#endif

static unsigned int attr_number(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value = 0;

	if (dwarf_attr_integrate(die, name, &attr))
		dwarf_formudata(&attr, &value);
	return value;
}

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		return dwarf_formstring(&attr);
	return dwarf_diename(die);
}

/* Of the line's row itself, where an instruction stands. */
static void line_of(Dwarf_Die *cu, Dwarf_Addr addr, struct halo_inline *out)
{
	Dwarf_Line *line = dwarf_getsrc_die(cu, addr);
	int number = 0;
	unsigned int discriminator = 0;

	if (!line)
		return;
	dwarf_lineno(line, &number);
	dwarf_linediscriminator(line, &discriminator);
	out->file = dwarf_linesrc(line, NULL, NULL);
	out->line = number;
	out->discriminator = discriminator;
}

static bool is_function(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

size_t halo_symbols__inlined(struct halo_symbols *s, uint64_t vaddr,
			     struct halo_inline out[HALO_INLINE_MAX])
{
	struct halo_unit_range *unit = halo_symbols__unit(s, vaddr);
	Dwarf_Die *scopes = NULL, *chain = NULL;
	int n, depth = 0;
	size_t used = 0;

	if (!unit)
		return 0;
	n = dwarf_getscopes(&unit->cu, vaddr - unit->bias, &scopes);
	/* Scopes of an abstract instance end there: those of the concrete one hold it. */
	if (n > 0)
		depth = dwarf_getscopes_die(&scopes[0], &chain);
	memset(&out[0], 0, sizeof(out[0]));
	line_of(&unit->cu, vaddr - unit->bias, &out[0]);
	for (int i = 0; i < depth && used < HALO_INLINE_MAX; i++) {
		Dwarf_Die *die = &chain[i];

		if (!is_function(die))
			continue;
		out[used].function = linkage_name(die);
		out[used].decl_line = attr_number(die, DW_AT_decl_line);
		used++;
		if (dwarf_tag(die) == DW_TAG_subprogram)
			break;
		if (used == HALO_INLINE_MAX)
			break;
		memset(&out[used], 0, sizeof(out[used]));
		out[used].line = attr_number(die, DW_AT_call_line);
		out[used].discriminator = attr_number(die, DW_AT_GNU_discriminator);
	}
	free(chain);
	free(scopes);
	return used;
}

static int by_begin(const void *a, const void *b)
{
	const struct halo_row *x = a, *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

static int add_rows(struct halo_symbols *s, Dwarf_Die *cu, Dwarf_Addr bias)
{
	struct halo_row *rows;
	Dwarf_Lines *lines;
	size_t n;

	if (dwarf_getsrclines(cu, &lines, &n) || !n)
		return 0;
	rows = reallocarray(s->rows, s->n_rows + n, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	s->rows = rows;
	for (size_t i = 0; i + 1 < n; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);
		Dwarf_Addr begin, end;
		bool last = true;

		dwarf_lineendsequence(line, &last);
		if (last || dwarf_lineaddr(line, &begin) ||
		    dwarf_lineaddr(dwarf_onesrcline(lines, i + 1), &end) || end <= begin)
			continue;
		rows[s->n_rows++] = (struct halo_row){begin + bias, end + bias};
	}
	return 0;
}

void halo_symbols__rows(struct halo_symbols *s, halo_row_fn fn, void *ctx)
{
	Dwarf_Die *cu = NULL;
	Dwarf_Addr bias;

	if (!s->rows) {
		while ((cu = dwfl_module_nextcu(s->module, cu, &bias)))
			if (add_rows(s, cu, bias))
				return;
		if (s->n_rows)
			qsort(s->rows, s->n_rows, sizeof(*s->rows), by_begin);
	}
	for (size_t i = 0; i < s->n_rows; i++)
		fn(ctx, s->rows[i].begin, s->rows[i].end);
}
