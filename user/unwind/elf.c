// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "elf.h"
#include "reader.h"

#define EH_FRAME_HDR_PCREL_SDATA4 0x1b

static void read_segments(struct halo_unwind_elf *e, size_t size)
{
	GElf_Phdr ph;
	size_t n;

	if (elf_getphdrnum(e->elf, &n))
		return;
	for (size_t i = 0; i < n && e->n_segments < HALO_UNWIND_SEGMENTS; i++) {
		if (!gelf_getphdr(e->elf, i, &ph) || ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
			continue;
		if (ph.p_offset > size || ph.p_filesz > size - ph.p_offset)
			continue;
		e->segments[e->n_segments++] = (struct halo_unwind_segment){
			.vaddr = ph.p_vaddr,
			.off = ph.p_offset,
			.size = ph.p_filesz,
		};
	}
}

static void read_section(Elf_Scn *scn, GElf_Shdr *sh, struct halo_cfi_section *out)
{
	Elf_Data *data;

	if (sh->sh_type == SHT_NOBITS || out->size)
		return;
	if (sh->sh_flags & SHF_COMPRESSED && elf_compress(scn, 0, 0) < 0)
		return;
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf)
		return;
	out->data = data->d_buf;
	out->size = data->d_size;
	out->vaddr = sh->sh_addr;
}

static void read_sections(struct halo_unwind_elf *e)
{
	Elf_Scn *scn = NULL;
	uint64_t text = 0, got = 0;
	const char *name;
	GElf_Shdr sh;
	size_t names;

	if (elf_getshdrstrndx(e->elf, &names))
		return;
	while ((scn = elf_nextscn(e->elf, scn))) {
		if (!gelf_getshdr(scn, &sh))
			continue;
		name = elf_strptr(e->elf, names, sh.sh_name);
		if (!name)
			continue;
		if (!strcmp(name, ".eh_frame"))
			read_section(scn, &sh, &e->eh_frame);
		else if (!strcmp(name, ".debug_frame"))
			read_section(scn, &sh, &e->debug_frame);
		else if (!strcmp(name, ".text"))
			text = sh.sh_addr;
		else if (!strcmp(name, ".got"))
			got = sh.sh_addr;
	}
	e->eh_frame.text = e->debug_frame.text = text;
	e->eh_frame.got = e->debug_frame.got = got;
	e->debug_frame.debug_frame = true;
}

/* Without section headers: PT_GNU_EH_FRAME leads to .eh_frame, which ends where its segment does. */
static void find_by_header(struct halo_unwind_elf *e, const uint8_t *data, size_t size)
{
	GElf_Phdr ph, hdr = {0};
	uint64_t at, off;
	int32_t distance;
	size_t n;

	if (elf_getphdrnum(e->elf, &n))
		return;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(e->elf, i, &ph) && ph.p_type == PT_GNU_EH_FRAME)
			hdr = ph;
	if (hdr.p_filesz < 8 || hdr.p_offset > size || size - hdr.p_offset < 8 ||
	    data[hdr.p_offset] != 1 || data[hdr.p_offset + 1] != EH_FRAME_HDR_PCREL_SDATA4)
		return;
	memcpy(&distance, data + hdr.p_offset + 4, sizeof(distance));
	at = hdr.p_vaddr + 4 + (int64_t)distance;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(e->elf, i, &ph) || ph.p_type != PT_LOAD || at < ph.p_vaddr ||
		    at - ph.p_vaddr >= ph.p_filesz)
			continue;
		off = at - ph.p_vaddr + ph.p_offset;
		if (ph.p_offset > size || ph.p_filesz > size - ph.p_offset)
			continue;
		e->eh_frame.data = data + off;
		e->eh_frame.size = ph.p_offset + ph.p_filesz - off;
		e->eh_frame.vaddr = at;
		e->eh_frame.until_empty = true;
		return;
	}
}

int halo_unwind_elf__open(const void *data, size_t size, struct halo_unwind_elf *out,
			  struct halo_err *err)
{
	GElf_Ehdr eh;

	*out = (struct halo_unwind_elf){0};
	elf_version(EV_CURRENT);
	/* libelf changes nothing in what it is given. */
	out->elf = elf_memory((char *)(uintptr_t)data, size);
	if (!out->elf || elf_kind(out->elf) != ELF_K_ELF || !gelf_getehdr(out->elf, &eh) ||
	    eh.e_machine != EM_X86_64 || eh.e_ident[EI_CLASS] != ELFCLASS64) {
		halo_unwind_elf__close(out);
		return halo_err__set(err, -ENOEXEC, "it is no ELF file for x86-64");
	}
	read_segments(out, size);
	read_sections(out);
	if (!out->eh_frame.size)
		find_by_header(out, data, size);
	return 0;
}

void halo_unwind_elf__close(struct halo_unwind_elf *e)
{
	elf_end(e->elf);
	e->elf = NULL;
}
