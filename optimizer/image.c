// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"

struct reader {
	Elf *elf;
	const struct link_job *job;
	struct image *out;
	struct halo_err *err;
};

static int bad_image(struct reader *r, const char *what)
{
	return halo_err__set(r->err, -EPROTO, "the linked image is not as it should be: %s", what);
}

static int check_load(struct reader *r, const GElf_Phdr *ph)
{
	uint64_t base = (uint64_t)(r->job->place + HALO_LINK_BIAS);

	if (ph->p_offset || ph->p_vaddr != base || ph->p_filesz != ph->p_memsz ||
	    ph->p_flags != (PF_R | PF_X))
		return bad_image(r, "its segment");
	if (ph->p_memsz > r->job->room)
		return halo_err__set(r->err, -ENOSPC,
				     "the image takes %lu bytes, and %lu are left in the arena",
				     ph->p_memsz, r->job->room);
	r->out->size = ph->p_memsz;
	return 0;
}

static int check_segments(struct reader *r)
{
	size_t i, n, loads = 0;
	GElf_Phdr ph;
	int ret;

	if (elf_getphdrnum(r->elf, &n))
		return bad_image(r, "its headers");
	for (i = 0; i < n; i++) {
		if (!gelf_getphdr(r->elf, (int)i, &ph))
			return bad_image(r, "its headers");
		if (ph.p_type == PT_DYNAMIC || ph.p_type == PT_INTERP)
			return bad_image(r, "it is dynamic");
		if (ph.p_type == PT_TLS && ph.p_memsz &&
		    (ph.p_memsz != r->job->p->tls_size || ph.p_align != r->job->p->tls_align ||
		     ph.p_vaddr % ph.p_align))
			return bad_image(r, "its thread-locals");
		if (ph.p_type != PT_LOAD)
			continue;
		loads++;
		ret = check_load(r, &ph);
		if (ret)
			return ret;
	}
	return loads == 1 ? 0 : bad_image(r, "the number of its segments");
}

static int add_function(struct reader *r, const char *name, const GElf_Sym *sym)
{
	struct image *out = r->out;
	struct image_function *list;

	list = reallocarray(out->functions, out->n_functions + 1, sizeof(*list));
	if (!list)
		return halo_err__set(r->err, -ENOMEM, "out of memory");
	out->functions = list;
	list[out->n_functions] = (struct image_function){
		.name = strdup(name),
		.vaddr = (int64_t)sym->st_value - HALO_LINK_BIAS,
		.size = sym->st_size,
	};
	if (!list[out->n_functions++].name)
		return halo_err__set(r->err, -ENOMEM, "out of memory");
	return 0;
}

static int read_symbols(struct reader *r, Elf_Scn *scn, const GElf_Shdr *header)
{
	size_t i, n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	Elf_Data *data = elf_getdata(scn, NULL);
	const char *name;
	GElf_Sym sym;
	int ret;

	for (i = 1; i < n; i++) {
		if (!gelf_getsym(data, (int)i, &sym))
			return bad_image(r, "its symbols");
		if (GELF_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_shndx == SHN_ABS ||
		    sym.st_shndx == SHN_UNDEF)
			continue;
		name = elf_strptr(r->elf, header->sh_link, sym.st_name);
		if (!name)
			return bad_image(r, "its symbols");
		ret = add_function(r, name, &sym);
		if (ret)
			return ret;
		if (strcmp(name, r->job->root) == 0)
			r->out->entry = (int64_t)sym.st_value - HALO_LINK_BIAS;
	}
	return 0;
}

static int read_sections(struct reader *r)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;
	int ret = 0;

	while (!ret && (scn = elf_nextscn(r->elf, scn))) {
		if (!gelf_getshdr(scn, &header))
			return bad_image(r, "its sections");
		if ((header.sh_flags & SHF_WRITE) && !(header.sh_flags & SHF_TLS) && header.sh_size)
			return bad_image(r, "it has writable data");
		if ((header.sh_type == SHT_RELA || header.sh_type == SHT_REL) && header.sh_size)
			return bad_image(r, "it has relocations");
		if (header.sh_type == SHT_SYMTAB)
			ret = read_symbols(r, scn, &header);
	}
	return ret;
}

static int check_entry(struct reader *r)
{
	int64_t offset = r->out->entry - r->job->place;

	return offset > 0 && (uint64_t)offset < r->out->size ? 0
							     : bad_image(r, "its root's address");
}

int image__read(int fd, const struct link_job *job, struct image *out, struct halo_err *err)
{
	struct reader r = {.job = job, .out = out, .err = err};
	int ret;

	elf_version(EV_CURRENT);
	r.elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!r.elf)
		return bad_image(&r, elf_errmsg(-1));
	ret = check_segments(&r);
	if (!ret)
		ret = read_sections(&r);
	if (!ret)
		ret = check_entry(&r);
	elf_end(r.elf);
	return ret;
}

void image__free(struct image *image)
{
	size_t i;

	for (i = 0; i < image->n_functions; i++)
		free(image->functions[i].name);
	free(image->functions);
	memset(image, 0, sizeof(*image));
}
