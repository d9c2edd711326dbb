// SPDX-License-Identifier: BSD-2-Clause
#include "prepared_internal.h"
#include "util.h"

/* User addresses end here, so sums of two of them don't overflow. */
#define ADDR_MAX     (1ULL << 47)
#define SEGMENTS_MAX 64 /* linkers make four to ten */

static int add_segment(struct halo_prepared *p, const GElf_Phdr *ph, struct halo_err *err)
{
	const struct halo_segment *last = p->n_segments ? &p->segments[p->n_segments - 1] : NULL;

	if (ph->p_offset > p->map_size || ph->p_filesz > p->map_size - ph->p_offset)
		return halo_prepared__corrupt(err, "a segment lies outside of the file");
	if (ph->p_filesz > ph->p_memsz || ph->p_vaddr > ADDR_MAX ||
	    ph->p_memsz > ADDR_MAX - ph->p_vaddr)
		return halo_prepared__corrupt(err, "a segment has impossible bounds");
	if (last && ph->p_vaddr < last->vaddr + last->memsz)
		return halo_prepared__corrupt(err, "segments overlap");
	if (p->n_segments == SEGMENTS_MAX)
		return halo_prepared__corrupt(err, "more than %d segments", SEGMENTS_MAX);

	p->segments[p->n_segments++] = (struct halo_segment){
		.vaddr = ph->p_vaddr,
		.off = ph->p_offset,
		.filesz = ph->p_filesz,
		.memsz = ph->p_memsz,
		.flags = ph->p_flags,
	};
	return 0;
}

struct dynamic {
	bool there, interp, needed, pie;
};

static int read_dynamic(struct halo_prepared *p, const GElf_Phdr *ph, struct dynamic *dyn,
			struct halo_err *err)
{
	Elf64_Dyn d;
	size_t i;

	if (dyn->there)
		return halo_prepared__corrupt(err, "two dynamic sections");
	dyn->there = true;
	if (ph->p_offset > p->map_size || ph->p_filesz > p->map_size - ph->p_offset)
		return halo_prepared__corrupt(err, "the dynamic section lies outside of the file");
	for (i = 0; i < ph->p_filesz / sizeof(d); i++) {
		memcpy(&d, p->map + ph->p_offset + i * sizeof(d), sizeof(d));
		switch (d.d_tag) {
		case DT_NULL:
			return 0;
		case DT_NEEDED:
			dyn->needed = true;
			break;
		case DT_SYMBOLIC:
			p->symbolic = true;
			break;
		case DT_BIND_NOW:
			p->bind_now = true;
			break;
		case DT_FLAGS:
			p->bind_now |= !!(d.d_un.d_val & DF_BIND_NOW);
			p->symbolic |= !!(d.d_un.d_val & DF_SYMBOLIC);
			break;
		case DT_FLAGS_1:
			p->bind_now |= !!(d.d_un.d_val & DF_1_NOW);
			dyn->pie |= !!(d.d_un.d_val & DF_1_PIE);
			break;
		}
	}
	return 0;
}

static int read_tls(struct halo_prepared *p, const GElf_Phdr *ph, struct halo_err *err)
{
	if (ph->p_memsz > ADDR_MAX || (ph->p_align & (ph->p_align - 1)))
		return halo_prepared__corrupt(err, "impossible thread-local size");
	p->tls_size = ph->p_memsz;
	p->tls_align = ph->p_align;
	return 0;
}

static void read_notes(struct halo_prepared *p, const GElf_Phdr *ph)
{
	if (!p->buildid.len && ph->p_filesz <= HALO_NOTES_MAX && ph->p_offset <= p->map_size &&
	    ph->p_filesz <= p->map_size - ph->p_offset)
		halo_buildid__find(p->map + ph->p_offset, ph->p_filesz, ph->p_align, &p->buildid);
}

static int read_phdr(struct halo_prepared *p, const GElf_Phdr *ph, struct dynamic *dyn,
		     struct halo_err *err)
{
	switch (ph->p_type) {
	case PT_LOAD:
		return add_segment(p, ph, err);
	case PT_DYNAMIC:
		return read_dynamic(p, ph, dyn, err);
	case PT_TLS:
		return read_tls(p, ph, err);
	case PT_NOTE:
		read_notes(p, ph);
		return 0;
	case PT_INTERP:
		dyn->interp = true;
		return 0;
	}
	return 0;
}

static int read_segments(struct halo_prepared *p, Elf *elf, struct halo_err *err)
{
	struct dynamic dyn = {};
	uint64_t total = 0;
	GElf_Phdr ph;
	size_t i, n;
	int ret;

	if (elf_getphdrnum(elf, &n) || !n || n > HALO_PHDRS_MAX)
		return halo_err__set(err, -ENOEXEC, "no program headers: not an executable");
	p->segments = calloc(SEGMENTS_MAX, sizeof(*p->segments));
	if (!p->segments)
		return halo_err__set(err, -ENOMEM, "out of memory");

	for (i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, i, &ph))
			return halo_prepared__corrupt(err, "program header %zu can't be read", i);
		ret = read_phdr(p, &ph, &dyn, err);
		if (ret)
			return ret;
	}
	for (i = 0; i < p->n_segments; i++)
		total += p->segments[i].filesz;
	if (total / 2 > p->map_size)
		return halo_prepared__corrupt(err, "segments share their contents");
	p->is_static = !dyn.interp && !dyn.needed;
	p->is_library = p->pic && !dyn.interp && !dyn.pie;
	return 0;
}

static int read_sections(struct halo_prepared *p, Elf *elf, struct halo_err *err)
{
	struct halo_section *s;
	size_t i, n, shstrndx;
	const char *name;
	GElf_Shdr sh;

	if (elf_getshdrnum(elf, &n) || elf_getshdrstrndx(elf, &shstrndx))
		return halo_prepared__corrupt(err, "section headers can't be read");
	p->sections = calloc(n + 1, sizeof(*p->sections));
	if (!p->sections)
		return halo_err__set(err, -ENOMEM, "out of memory");

	for (i = 0; i < n; i++) {
		Elf_Scn *scn = elf_getscn(elf, i);

		if (!scn || !gelf_getshdr(scn, &sh))
			return halo_prepared__corrupt(err, "section %zu can't be read", i);
		s = &p->sections[p->n_sections++];
		s->name = "";
		s->type = sh.sh_type;
		s->link = sh.sh_link;
		s->flags = sh.sh_flags;
		if (sh.sh_type == SHT_NOBITS || sh.sh_type == SHT_NULL)
			continue;
		if (sh.sh_offset > p->map_size || sh.sh_size > p->map_size - sh.sh_offset)
			return halo_prepared__corrupt(err, "section %zu lies outside of the file",
						      i);
		s->data = p->map + sh.sh_offset;
		s->size = sh.sh_size;
	}

	if (shstrndx >= n || !p->sections[shstrndx].data)
		return 0;
	for (i = 0; i < n; i++) {
		gelf_getshdr(elf_getscn(elf, i), &sh);
		name = halo_prepared__string(p, &p->sections[shstrndx], sh.sh_name);
		if (!name)
			return halo_prepared__corrupt(err, "section %zu has no name", i);
		p->sections[i].name = name;
	}
	return 0;
}

/*
 * Counts in the first section header, for files with more sections or program headers than the ELF
 * header can say, are for no linked program.
 */
static int check_counts(const struct halo_prepared *p, struct halo_err *err)
{
	Elf64_Ehdr eh;

	memcpy(&eh, p->map, sizeof(eh));
	if (eh.e_phnum > HALO_PHDRS_MAX || (eh.e_shnum == 0 && eh.e_shoff != 0))
		return halo_prepared__corrupt(err, "too many headers");
	return 0;
}

static int check_header(struct halo_prepared *p, Elf *elf, struct halo_err *err)
{
	GElf_Ehdr eh;

	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &eh) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_ident[EI_DATA] != ELFDATA2LSB ||
	    eh.e_machine != EM_X86_64) {
		halo_err__set(err, -ENOEXEC, "not an x86-64 ELF file");
		halo_err__remedy(err, "name the program itself, not a script that starts it");
		return -ENOEXEC;
	}
	if (eh.e_type != ET_EXEC && eh.e_type != ET_DYN)
		return halo_err__set(err, -ENOEXEC, "neither an executable nor a shared library");
	p->pic = eh.e_type == ET_DYN;
	return check_counts(p, err);
}

int halo_prepared__read_elf(struct halo_prepared *p, struct halo_err *err)
{
	Elf *elf;
	int ret;

	elf_version(EV_CURRENT);
	elf = elf_memory((char *)p->map, p->map_size);
	ret = check_header(p, elf, err);
	if (!ret)
		ret = read_segments(p, elf, err);
	if (!ret)
		ret = read_sections(p, elf, err);
	elf_end(elf);
	return ret;
}
