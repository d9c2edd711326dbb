// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <elfutils/libdwfl.h>

#include "internal.h"

static char *no_debug_path;

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
	.debuginfo_path = &no_debug_path,
};

static int read_segments(struct halo_symbols *s, Elf *elf)
{
	size_t n;
	GElf_Phdr ph;

	if (elf_getphdrnum(elf, &n))
		return -ENOEXEC;
	s->segments = calloc(n + 1, sizeof(*s->segments));
	if (!s->segments)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, i, &ph) || ph.p_type != PT_LOAD)
			continue;
		s->segments[s->n_segments++] = (struct halo_segment){
			.vaddr = ph.p_vaddr,
			.off = ph.p_offset,
			.filesz = ph.p_filesz,
			.memsz = ph.p_memsz,
			.flags = ph.p_flags,
		};
	}
	return 0;
}

static int map_file(struct halo_symbols *s, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > HALO_FILE_MAX)
		return -EFBIG;
	/* A copy: whoever can write the file must not change what is looked at, nor cut it off. */
	s->size = st.st_size;
	s->map = malloc(s->size + 1);
	if (!s->map)
		return -ENOMEM;
	for (size_t done = 0; done < s->size;) {
		ssize_t n = pread(fd, s->map + done, s->size - done, done);

		if (n <= 0)
			return n < 0 ? -errno : -ESTALE;
		done += n;
	}
	return 0;
}

static int report(struct halo_symbols *s, int fd, const char *path)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (own < 0)
		return -errno;
	s->dwfl = dwfl_begin(&callbacks);
	if (!s->dwfl) {
		close(own);
		return -ENOMEM;
	}
	dwfl_report_begin(s->dwfl);
	/* It owns the descriptor if it takes the file. */
	s->module = dwfl_report_elf(s->dwfl, path, path, own, 0, true);
	if (!s->module)
		close(own);
	dwfl_report_end(s->dwfl, NULL, NULL);
	return s->module ? 0 : -ENOEXEC;
}

int halo_symbols__open(int fd, const char *path, struct halo_symbols **out, struct halo_err *err)
{
	struct halo_symbols *s = calloc(1, sizeof(*s));
	Elf *elf;
	int ret;

	if (!s)
		return halo_err__set(err, -ENOMEM, "out of memory");
	elf_version(EV_CURRENT);
	ret = map_file(s, fd);
	if (!ret) {
		elf = elf_memory((char *)s->map, s->size);
		ret = elf && elf_kind(elf) == ELF_K_ELF ? read_segments(s, elf) : -ENOEXEC;
		elf_end(elf);
	}
	if (!ret)
		ret = report(s, fd, path);
	if (ret) {
		halo_symbols__free(s);
		return halo_err__set(err, ret, "reading %.300s: %s", path,
				     ret == -ENOEXEC ? "it is no ELF file" : strerror(-ret));
	}
	*out = s;
	return 0;
}

void halo_symbols__free(struct halo_symbols *s)
{
	if (!s)
		return;
	if (s->dwfl)
		dwfl_end(s->dwfl);
	free(s->rows);
	free(s->units);
	free(s->segments);
	free(s->map);
	free(s);
}

bool halo_symbols__vaddr(const struct halo_symbols *s, uint64_t off, uint64_t *vaddr)
{
	for (size_t i = 0; i < s->n_segments; i++) {
		const struct halo_segment *seg = &s->segments[i];

		if (off < seg->off || off - seg->off >= seg->filesz)
			continue;
		*vaddr = off - seg->off + seg->vaddr;
		/* A page at the border is in two segments: code is meant. */
		if (seg->flags & PF_X)
			return true;
		for (size_t j = i + 1; j < s->n_segments; j++) {
			const struct halo_segment *other = &s->segments[j];

			if (!(other->flags & PF_X) || off < other->off ||
			    off - other->off >= other->filesz)
				continue;
			*vaddr = off - other->off + other->vaddr;
		}
		return true;
	}
	return false;
}

uint64_t halo_symbols__text_base(const struct halo_symbols *s)
{
	for (size_t i = 0; i < s->n_segments; i++)
		if (s->segments[i].flags & PF_X)
			return s->segments[i].vaddr & ~(HALO_PAGE - 1);
	return 0;
}

const uint8_t *halo_symbols__code(const struct halo_symbols *s, uint64_t vaddr, size_t *size)
{
	for (size_t i = 0; i < s->n_segments; i++) {
		const struct halo_segment *seg = &s->segments[i];
		uint64_t at = vaddr - seg->vaddr;

		if (!(seg->flags & PF_X) || vaddr < seg->vaddr || at >= seg->filesz ||
		    seg->off > s->size || seg->filesz > s->size - seg->off)
			continue;
		*size = seg->filesz - at;
		return s->map + seg->off + at;
	}
	return NULL;
}

/*
 * Address and size of the function: with minimal symbol tables libdwfl gives the nearest one before,
 * however far that is, so one of no size counts for as long as nothing else begins.
 */
bool halo_symbols__at(struct halo_symbols *s, uint64_t vaddr, struct halo_symbol_at *out)
{
	GElf_Off off;
	GElf_Sym sym;
	const char *name;

	name = dwfl_module_addrinfo(s->module, vaddr, &off, &sym, NULL, NULL, NULL);
	if (!name || (sym.st_size && off >= sym.st_size))
		return false;
	*out = (struct halo_symbol_at){.raw = name, .addr = vaddr - off, .size = sym.st_size};
	return true;
}

bool halo_symbols__line(struct halo_symbols *s, uint64_t vaddr, const char **file,
			unsigned int *line)
{
	struct halo_unit_range *unit = halo_symbols__unit(s, vaddr);
	Dwarf_Line *at = unit ? dwarf_getsrc_die(&unit->cu, vaddr - unit->bias) : NULL;
	int number = 0;

	*file = at ? dwarf_linesrc(at, NULL, NULL) : NULL;
	if (!*file || dwarf_lineno(at, &number) || number <= 0)
		return false;
	*line = number;
	return true;
}
