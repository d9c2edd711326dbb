// SPDX-License-Identifier: BSD-2-Clause
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "landing.h"

/*
 * LLVM writes for each type that is caught, in the section .data, a word with the address of its
 * symbol, and refers to that word; and likewise a section for each personality. The symbols stand for
 * words themselves here (landing.c), so those of the object are one too many.
 */
struct object {
	uint8_t *data;
	size_t size;
	Elf64_Ehdr *ehdr;
	Elf64_Shdr *sections;
	const char *names; /* of sections */
	size_t names_size;
	Elf64_Sym *symbols;
	size_t n_symbols;
};

static bool in_bounds(const struct object *o, const Elf64_Shdr *s)
{
	return s->sh_offset <= o->size && s->sh_size <= o->size - s->sh_offset &&
	       s->sh_offset % 8 == 0;
}

static const char *name_of(const struct object *o, const Elf64_Shdr *s)
{
	return s->sh_name < o->names_size &&
			       memchr(o->names + s->sh_name, '\0', o->names_size - s->sh_name)
		       ? o->names + s->sh_name
		       : "";
}

static bool begins(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool open_object(struct object *o)
{
	Elf64_Shdr *s;

	o->ehdr = (Elf64_Ehdr *)o->data;
	if (o->size < sizeof(Elf64_Ehdr) || o->ehdr->e_shoff % 8 || o->ehdr->e_shoff > o->size ||
	    o->ehdr->e_shentsize != sizeof(Elf64_Shdr) ||
	    o->ehdr->e_shnum > (o->size - o->ehdr->e_shoff) / sizeof(Elf64_Shdr) ||
	    o->ehdr->e_shstrndx >= o->ehdr->e_shnum)
		return false;
	o->sections = (Elf64_Shdr *)(o->data + o->ehdr->e_shoff);
	s = &o->sections[o->ehdr->e_shstrndx];
	if (s->sh_offset > o->size || s->sh_size > o->size - s->sh_offset)
		return false;
	o->names = (const char *)o->data + s->sh_offset;
	o->names_size = s->sh_size;
	for (s = o->sections; s < o->sections + o->ehdr->e_shnum; s++) {
		if ((s->sh_type != SHT_SYMTAB && s->sh_type != SHT_RELA) || !s->sh_size)
			continue;
		if (!in_bounds(o, s))
			return false;
		if (s->sh_type == SHT_SYMTAB) {
			o->symbols = (Elf64_Sym *)(o->data + s->sh_offset);
			o->n_symbols = s->sh_size / sizeof(Elf64_Sym);
		}
	}
	return true;
}

/* The relocations of section @target, their number in *n; NULL: none. */
static Elf64_Rela *relocs_of(const struct object *o, size_t target, size_t *n)
{
	Elf64_Shdr *s;

	for (s = o->sections; s < o->sections + o->ehdr->e_shnum; s++)
		if (s->sh_type == SHT_RELA && s->sh_info == target && s->sh_size) {
			*n = s->sh_size / sizeof(Elf64_Rela);
			return (Elf64_Rela *)(o->data + s->sh_offset);
		}
	*n = 0;
	return NULL;
}

/* Index of the symbol that the word at @off of section @target holds the address of, or 0. */
static size_t symbol_in(const struct object *o, size_t target, uint64_t off)
{
	Elf64_Rela *r;
	size_t i, n;

	r = relocs_of(o, target, &n);
	for (i = 0; i < n; i++)
		if (r[i].r_offset == off && ELF64_R_TYPE(r[i].r_info) == R_X86_64_64 &&
		    !r[i].r_addend)
			return ELF64_R_SYM(r[i].r_info);
	return 0;
}

/* A reference to a word of section @data becomes one to the symbol in that word. */
static bool redirect(const struct object *o, Elf64_Rela *r, size_t data)
{
	size_t i = ELF64_R_SYM(r->r_info);
	const Elf64_Sym *sym = i < o->n_symbols ? &o->symbols[i] : NULL;

	if (!sym || sym->st_shndx != data)
		return true;
	i = symbol_in(o, data, sym->st_value + (uint64_t)r->r_addend);
	if (!i || ELF64_R_TYPE(r->r_info) != R_X86_64_PC32)
		return false;
	r->r_info = ELF64_R_INFO(i, R_X86_64_PC32);
	r->r_addend = 0;
	return true;
}

static bool redirect_all(const struct object *o, size_t data)
{
	size_t i, k, n;
	Elf64_Rela *r;

	for (i = 0; i < o->ehdr->e_shnum; i++) {
		if (!begins(name_of(o, &o->sections[i]), ".gcc_except_table"))
			continue;
		r = relocs_of(o, i, &n);
		for (k = 0; k < n; k++)
			if (!redirect(o, &r[k], data))
				return false;
	}
	return true;
}

/* What only they referred to must not be looked for. */
static void drop(const struct object *o, size_t section)
{
	size_t i, n, k;
	Elf64_Rela *r;
	Elf64_Shdr *s;

	o->sections[section].sh_size = 0;
	r = relocs_of(o, section, &n);
	for (i = 0; i < n; i++) {
		k = ELF64_R_SYM(r[i].r_info);
		if (k < o->n_symbols && o->symbols[k].st_shndx == SHN_UNDEF)
			o->symbols[k].st_info = ELF64_ST_INFO(STB_WEAK,
							      ELF64_ST_TYPE(o->symbols[k].st_info));
	}
	for (s = o->sections; s < o->sections + o->ehdr->e_shnum; s++)
		if (s->sh_type == SHT_RELA && s->sh_info == section)
			s->sh_size = 0;
}

/* Symbols of the section become undefined ones. */
static void give_away(const struct object *o, size_t section)
{
	size_t i;

	for (i = 0; i < o->n_symbols; i++) {
		Elf64_Sym *sym = &o->symbols[i];

		if (sym->st_shndx != section || ELF64_ST_BIND(sym->st_info) == STB_LOCAL)
			continue;
		sym->st_shndx = SHN_UNDEF;
		sym->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE);
		sym->st_value = 0;
		sym->st_size = 0;
	}
}

int landing__fix_object(void *object, size_t size, struct halo_err *err)
{
	struct object o = {.data = object, .size = size};
	size_t i;

	if (!open_object(&o))
		return halo_err__set(err, -EBADMSG, "the object is not valid");
	for (i = 0; i < o.ehdr->e_shnum; i++) {
		const char *name = name_of(&o, &o.sections[i]);

		if (strcmp(name, ".data") == 0 && o.sections[i].sh_size) {
			if (!redirect_all(&o, i))
				return halo_err__set(err, -EXDEV,
						     "its exception tables are of an unknown form");
			drop(&o, i);
		} else if (begins(name, ".data.DW.ref.")) {
			give_away(&o, i);
			drop(&o, i);
		}
	}
	return 0;
}
