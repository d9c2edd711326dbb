// SPDX-License-Identifier: BSD-2-Clause
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../user/lib/util.h"
#include "tables.h"
#include "words.h"

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int add(struct words *words, const struct word *word)
{
	struct word *list;

	list = reallocarray(words->list, words->n + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	words->list = list;
	list[words->n++] = *word;
	return 0;
}

static const struct halo_section *linked(const struct halo_prepared *p,
					 const struct halo_section *s)
{
	return s->link < p->n_sections && p->sections[s->link].data ? &p->sections[s->link] : NULL;
}

/* The symbol that a word with relocation @r holds the address of. False: it does not. */
static bool read_symbol(const struct halo_prepared *p, const struct halo_section *s,
			const Elf64_Rela *r, struct word *out)
{
	const struct halo_section *table = linked(p, s), *names = table ? linked(p, table) : NULL;
	uint64_t i = ELF64_R_SYM(r->r_info);
	Elf64_Sym sym;

	if (!names || r->r_addend || !i || i >= table->size / sizeof(sym))
		return false;
	memcpy(&sym, table->data + i * sizeof(sym), sizeof(sym));
	if (sym.st_shndx != SHN_UNDEF || sym.st_value) {
		out->target = sym.st_value;
		return true;
	}
	if (sym.st_name >= names->size ||
	    !memchr(names->data + sym.st_name, '\0', names->size - sym.st_name))
		return false;
	out->import = (const char *)names->data + sym.st_name;
	return true;
}

/* What the dynamic linker puts into the words at the sorted addresses @at. */
static int read_relocs(const struct halo_prepared *p, const struct halo_section *s,
		       const struct tables_words *at, struct words *out)
{
	size_t i, n = s->size / sizeof(Elf64_Rela);
	Elf64_Rela r;
	int ret = 0;

	for (i = 0; i < n && !ret; i++) {
		struct word word = {0};

		memcpy(&r, s->data + i * sizeof(r), sizeof(r));
		if (!bsearch(&r.r_offset, at->list, at->n, sizeof(*at->list), by_value))
			continue;
		word.at = r.r_offset;
		word.target = (uint64_t)r.r_addend;
		if (ELF64_R_TYPE(r.r_info) == R_X86_64_RELATIVE ||
		    (ELF64_R_TYPE(r.r_info) == R_X86_64_64 && read_symbol(p, s, &r, &word)))
			ret = add(out, &word);
	}
	return ret;
}

int words__read(const struct halo_prepared *p, struct words *out, struct halo_err *err)
{
	struct tables_words at = {0};
	size_t i;
	int ret;

	memset(out, 0, sizeof(*out));
	ret = tables__find_words(p, &at);
	qsort(at.list, at.n, sizeof(*at.list), by_value);
	for (i = 0; i < p->n_sections && !ret && at.n; i++)
		if (p->sections[i].type == SHT_RELA && (p->sections[i].flags & SHF_ALLOC) &&
		    p->sections[i].data)
			ret = read_relocs(p, &p->sections[i], &at, out);
	free(at.list);
	return ret ? halo_err__set(err, ret, "out of memory") : 0;
}

void words__free(struct words *words)
{
	free(words->list);
	memset(words, 0, sizeof(*words));
}

struct place words__place(const struct words *words, const struct halo_prepared *p,
			  const char *name, struct place place)
{
	size_t i;

	if (place.where == WHERE_IMPORT && !place.lazy)
		return (struct place){.where = WHERE_PROGRAM, .addr = place.addr};
	if (place.where == WHERE_PROGRAM && !p->pic)
		return (struct place){.where = WHERE_CONSTANT, .addr = place.addr};
	for (i = 0; i < words->n; i++) {
		const struct word *w = &words->list[i];

		if (place.where == WHERE_PROGRAM ? !w->import && w->target == place.addr
						 : w->import && strcmp(w->import, name) == 0)
			return (struct place){.where = WHERE_PROGRAM, .addr = w->at};
	}
	return (struct place){.where = WHERE_NOWHERE};
}
