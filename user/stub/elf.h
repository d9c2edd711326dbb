/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_STUB_ELF_H
#define HALO_STUB_ELF_H

/* Symbols of loaded modules, without the dynamic linker's help. */
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Address or value; relocated in place by some C libraries and not by others. */
static uintptr_t dynamic(const ElfW(Dyn) * dyn, ElfW(Sxword) tag, uintptr_t base)
{
	for (; dyn->d_tag != DT_NULL; dyn++)
		if (dyn->d_tag == tag)
			return dyn->d_un.d_ptr < base ? base + dyn->d_un.d_ptr : dyn->d_un.d_ptr;
	return 0;
}

static bool is_name(const char *a, const char *b)
{
	for (; *a == *b; a++, b++)
		if (!*a)
			return true;
	return false;
}

static uint32_t hash_name(const char *c)
{
	uint32_t h = 5381;

	for (; *c; c++)
		h = h * 33 + (unsigned char)*c;
	return h;
}

/* The definition of @name in the module of that dynamic section, loaded at @base. 0: it has none. */
static uintptr_t look_up(const ElfW(Dyn) * dyn, uintptr_t base, const char *name)
{
	const uint32_t *table = dyn ? (const uint32_t *)dynamic(dyn, DT_GNU_HASH, base) : NULL;
	const uint32_t *buckets, *chain;
	const ElfW(Sym) * symbols;
	const char *names;
	uint32_t hash = hash_name(name), i;

	if (!table || !table[0])
		return 0;
	symbols = (const ElfW(Sym) *)dynamic(dyn, DT_SYMTAB, base);
	names = (const char *)dynamic(dyn, DT_STRTAB, base);
	/* Number of buckets, first symbol, 8-byte words of the filter, shift; then the filter. */
	buckets = table + 4 + 2 * table[2];
	chain = buckets + table[0] - table[1];
	i = buckets[hash % table[0]];
	if (i < table[1])
		return 0;
	do {
		if ((chain[i] | 1) == (hash | 1) && is_name(names + symbols[i].st_name, name))
			return base + symbols[i].st_value;
	} while (!(chain[i++] & 1));
	return 0;
}

#endif
