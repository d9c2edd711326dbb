// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "relocs.h"

struct scan {
	Elf *elf;
	Elf_Scn *symtab;
	size_t symstr;	   /* its string section */
	Elf_Data *symbols; /* of .symtab */
	size_t n_symbols;
	bool *used; /* of n_symbols */
	struct halo_err *err;
};

static int bad_object(struct scan *s)
{
	return halo_err__set(s->err, -EBADMSG, "the object is not valid: %s", elf_errmsg(-1));
}

static bool is_allowed(unsigned int type)
{
	switch (type) {
	case R_X86_64_NONE:
	case R_X86_64_PC32:
	case R_X86_64_PLT32:
	case R_X86_64_PC64:
	case R_X86_64_TPOFF32:
		return true;
	default:
		return false;
	}
}

static const char *symbol_name(struct scan *s, size_t i)
{
	const char *name;
	GElf_Sym sym;

	if (i >= s->n_symbols || !gelf_getsym(s->symbols, (int)i, &sym))
		return "?";
	name = elf_strptr(s->elf, s->symstr, sym.st_name);
	return name && *name ? name : "a constant";
}

static int scan_relocs(struct scan *s, Elf_Scn *scn, const GElf_Shdr *header, const char *section)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t i, n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	GElf_Rela rela;

	if (n && !data)
		return bad_object(s);
	for (i = 0; i < n; i++) {
		if (!gelf_getrela(data, (int)i, &rela))
			return bad_object(s);
		if (GELF_R_SYM(rela.r_info) < s->n_symbols)
			s->used[GELF_R_SYM(rela.r_info)] = true;
		if (is_allowed(GELF_R_TYPE(rela.r_info)))
			continue;
		halo_err__set(s->err, -EXDEV,
			      "%s holds the address of %s (relocation type %u), which differs "
			      "from process to process",
			      section, symbol_name(s, GELF_R_SYM(rela.r_info)),
			      (unsigned int)GELF_R_TYPE(rela.r_info));
		return -EXDEV;
	}
	return 0;
}

/* Relocations of what is loaded; others (debug information) don't matter. */
static int scan_section(struct scan *s, Elf_Scn *scn, size_t shstr)
{
	GElf_Shdr header, target;
	const char *name;

	if (!gelf_getshdr(scn, &header))
		return bad_object(s);
	name = elf_strptr(s->elf, shstr, header.sh_name);
	if ((header.sh_flags & SHF_ALLOC) && (header.sh_flags & SHF_WRITE) && header.sh_size)
		return halo_err__set(s->err, -EXDEV, "the object has writable data (%s)",
				     name ? name : "?");
	if (header.sh_type == SHT_REL)
		return bad_object(s);
	if (header.sh_type != SHT_RELA)
		return 0;
	if (!gelf_getshdr(elf_getscn(s->elf, header.sh_info), &target))
		return bad_object(s);
	if (!(target.sh_flags & SHF_ALLOC))
		return 0;
	name = elf_strptr(s->elf, shstr, target.sh_name);
	return scan_relocs(s, scn, &header, name ? name : "?");
}

static int find_symbols(struct scan *s)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	while ((scn = elf_nextscn(s->elf, scn))) {
		if (!gelf_getshdr(scn, &header))
			return bad_object(s);
		if (header.sh_type != SHT_SYMTAB)
			continue;
		s->symtab = scn;
		s->symstr = header.sh_link;
		s->symbols = elf_getdata(scn, NULL);
		s->n_symbols = header.sh_entsize ? header.sh_size / header.sh_entsize : 0;
		return s->symbols || !s->n_symbols ? 0 : bad_object(s);
	}
	return 0;
}

static int collect_undefined(struct scan *s, struct relocs *out)
{
	const char *name;
	GElf_Sym sym;
	size_t i;

	out->undefined = calloc(s->n_symbols + 1, sizeof(*out->undefined));
	if (!out->undefined)
		return halo_err__set(s->err, -ENOMEM, "out of memory");
	for (i = 1; i < s->n_symbols; i++) {
		if (!gelf_getsym(s->symbols, (int)i, &sym))
			return bad_object(s);
		if (sym.st_shndx != SHN_UNDEF || !s->used[i])
			continue;
		name = elf_strptr(s->elf, s->symstr, sym.st_name);
		if (!name || !*name)
			return bad_object(s);
		out->undefined[out->n_undefined] = strdup(name);
		if (!out->undefined[out->n_undefined++])
			return halo_err__set(s->err, -ENOMEM, "out of memory");
	}
	return 0;
}

static int scan_elf(struct scan *s, struct relocs *out)
{
	Elf_Scn *scn = NULL;
	size_t shstr;
	int ret;

	if (elf_getshdrstrndx(s->elf, &shstr))
		return bad_object(s);
	ret = find_symbols(s);
	s->used = calloc(s->n_symbols + 1, sizeof(*s->used));
	if (!s->used)
		return halo_err__set(s->err, -ENOMEM, "out of memory");
	while (!ret && (scn = elf_nextscn(s->elf, scn)))
		ret = scan_section(s, scn, shstr);
	return ret ? ret : collect_undefined(s, out);
}

int relocs__scan(const void *data, size_t size, struct relocs *out, struct halo_err *err)
{
	struct scan s = {.err = err};
	int ret;

	memset(out, 0, sizeof(*out));
	elf_version(EV_CURRENT);
	s.elf = elf_memory((char *)data, size);
	if (!s.elf)
		return bad_object(&s);
	ret = scan_elf(&s, out);
	free(s.used);
	elf_end(s.elf);
	return ret;
}

void relocs__free(struct relocs *relocs)
{
	size_t i;

	for (i = 0; i < relocs->n_undefined; i++)
		free(relocs->undefined[i]);
	free(relocs->undefined);
	memset(relocs, 0, sizeof(*relocs));
}
