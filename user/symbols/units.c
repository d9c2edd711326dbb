// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>

#include "internal.h"

static int add(struct halo_symbols *s, Dwarf_Die *cu, Dwarf_Addr bias, Dwarf_Addr begin,
	       Dwarf_Addr end)
{
	struct halo_unit_range *more = s->units;

	if (!(s->n_units & (s->n_units - 1)))
		more = reallocarray(s->units, s->n_units ? 2 * s->n_units : 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	s->units = more;
	more[s->n_units++] = (struct halo_unit_range){begin + bias, end + bias, *cu, bias};
	return 0;
}

static int by_begin(const void *a, const void *b)
{
	const struct halo_unit_range *x = a, *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

static void read_units(struct halo_symbols *s)
{
	Dwarf_Addr bias, base, begin, end;
	Dwarf_Die *cu = NULL;
	ptrdiff_t at;

	s->has_units = true;
	while ((cu = dwfl_module_nextcu(s->module, cu, &bias))) {
		at = 0;
		while ((at = dwarf_ranges(cu, at, &base, &begin, &end)) > 0)
			if (end > begin && add(s, cu, bias, begin, end))
				return;
	}
	if (s->n_units)
		qsort(s->units, s->n_units, sizeof(*s->units), by_begin);
}

struct halo_unit_range *halo_symbols__unit(struct halo_symbols *s, uint64_t vaddr)
{
	size_t low = 0, high;

	if (!s->has_units)
		read_units(s);
	high = s->n_units;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->units[middle].begin <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low && vaddr < s->units[low - 1].end ? &s->units[low - 1] : NULL;
}
