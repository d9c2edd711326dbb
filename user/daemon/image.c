// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <halo/prepared.h>

#include "../lib/util.h"
#include "image.h"

static int bad(struct halo_err *err, const char *what)
{
	return halo_err__set(err, -EBADMSG, "the worker's image: %s", what);
}

static int check_header(Elf *elf, struct halo_err *err)
{
	GElf_Ehdr ehdr;

	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &ehdr))
		return bad(err, "not an ELF file");
	if (gelf_getclass(elf) != ELFCLASS64 || ehdr.e_ident[EI_DATA] != ELFDATA2LSB ||
	    ehdr.e_machine != EM_X86_64)
		return bad(err, "not for x86-64");
	if (ehdr.e_type != ET_EXEC)
		return bad(err, "not linked to a fixed address");
	return 0;
}

/*
 * Find the one PT_LOAD, and the frame descriptions; other segments may only be such that the kernel
 * would not act on.
 */
static int find_load(Elf *elf, GElf_Phdr *load, GElf_Phdr *frames, struct halo_err *err)
{
	size_t n, loads = 0;
	GElf_Phdr ph;

	if (elf_getphdrnum(elf, &n))
		return bad(err, "broken program headers");
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, i, &ph))
			return bad(err, "broken program headers");
		switch (ph.p_type) {
		case PT_LOAD:
			*load = ph;
			loads++;
			break;
		case PT_GNU_EH_FRAME:
			*frames = ph;
			break;
		case PT_GNU_STACK:
		case PT_NOTE:
		case PT_TLS:
		case PT_PHDR:
		case PT_NULL:
			break;
		default:
			return bad(err, "a segment of a kind that images don't have");
		}
	}
	return loads == 1 ? 0 : bad(err, "not exactly one loaded segment");
}

static int check_load(const GElf_Phdr *load, size_t len, int64_t place, uint64_t room,
		      int64_t entry, struct halo_err *err)
{
	uint64_t at = (uint64_t)entry - (uint64_t)place; /* below place becomes huge */

	if (load->p_flags != (PF_R | PF_X))
		return bad(err, "its segment is not read-execute");
	if (load->p_vaddr != (uint64_t)place + HALO_LINK_BIAS)
		return bad(err, "linked to another address than asked for");
	if (load->p_filesz != load->p_memsz || !load->p_filesz)
		return bad(err, "it has writable or uninitialised memory");
	if (load->p_offset > len || load->p_filesz > len - load->p_offset)
		return bad(err, "cut short");
	if (load->p_filesz > room)
		return halo_err__set(err, -ENOSPC,
				     "the image takes %llu bytes, %llu are left in the arena",
				     (unsigned long long)load->p_filesz, (unsigned long long)room);
	if (at >= load->p_filesz)
		return bad(err, "its entry is outside");
	return 0;
}

/*
 * A program's unwinder takes the header at its word: the sorted table, the only form that it needs no
 * time for, must be inside.
 */
static int check_frames(const uint8_t *code, const GElf_Phdr *load, const GElf_Phdr *frames,
			struct halo_err *err)
{
	/* Version; encodings of the pointer (pcrel), the count and the table (datarel). */
	static const uint8_t form[] = {1, 0x1b, 0x03, 0x3b};
	uint64_t at = frames->p_vaddr - load->p_vaddr;
	uint32_t count;

	if (frames->p_type != PT_GNU_EH_FRAME || !frames->p_memsz)
		return 0;
	if (at == 0 || at >= load->p_filesz || load->p_filesz - at < 12 || at % 4)
		return bad(err, "its frame descriptions are outside");
	if (memcmp(code + at, form, sizeof(form)) != 0)
		return bad(err, "its frame descriptions have no table");
	memcpy(&count, code + at + 8, sizeof(count));
	if (count > (load->p_filesz - at - 12) / 8)
		return bad(err, "its frame descriptions are cut short");
	return 0;
}

static int check_sections(Elf *elf, struct halo_err *err)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t n;

	if (elf_getshdrnum(elf, &n) || !n)
		return bad(err, "no section headers");
	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &sh))
			return bad(err, "broken section headers");
		switch (sh.sh_type) {
		case SHT_REL:
		case SHT_RELA:
		case SHT_RELR:
			if (sh.sh_size)
				return bad(err, "it has relocations left");
			break;
		case SHT_INIT_ARRAY:
		case SHT_FINI_ARRAY:
		case SHT_PREINIT_ARRAY:
		case SHT_DYNAMIC:
			return bad(err, "it has constructors or dynamic linking");
		}
		if ((sh.sh_flags & SHF_ALLOC) && (sh.sh_flags & SHF_WRITE) && sh.sh_size &&
		    !(sh.sh_flags & SHF_TLS))
			return bad(err, "it has writable data");
	}
	return 0;
}

int halo_image__parse(const void *file, size_t len, int64_t place, uint64_t room, int64_t entry,
		      struct halo_image *out, struct halo_err *err)
{
	GElf_Phdr load = {0}, frames = {0};
	Elf *elf;
	int ret;

	memset(out, 0, sizeof(*out));
	elf_version(EV_CURRENT);
	elf = elf_memory((char *)file, len);
	if (!elf)
		return bad(err, "not an ELF file");
	ret = check_header(elf, err);
	if (!ret)
		ret = find_load(elf, &load, &frames, err);
	if (!ret)
		ret = check_load(&load, len, place, room, entry, err);
	if (!ret)
		ret = check_frames((const uint8_t *)file + load.p_offset, &load, &frames, err);
	if (!ret)
		ret = check_sections(elf, err);
	elf_end(elf);
	if (ret)
		return ret;
	out->code = malloc(load.p_filesz);
	if (!out->code)
		return halo_err__set(err, -ENOMEM, "out of memory");
	memcpy(out->code, (const uint8_t *)file + load.p_offset, load.p_filesz);
	out->size = load.p_filesz;
	out->frames = frames.p_memsz ? frames.p_vaddr - load.p_vaddr : 0;
	out->place = place;
	return 0;
}

/* The worker may still run a process that writes to the file, so it is copied before it is checked. */
static int read_all(int fd, size_t len, uint8_t **out, struct halo_err *err)
{
	__cleanup_free uint8_t *buf = malloc(len);
	size_t got = 0;
	ssize_t n;

	if (!buf)
		return halo_err__set(err, -ENOMEM, "out of memory");
	while (got < len) {
		n = pread(fd, buf + got, len - got, got);
		if (n <= 0)
			return bad(err, n ? strerror(errno) : "cut short");
		got += n;
	}
	*out = take_ptr(buf);
	return 0;
}

int halo_image__read(int dir_fd, const char *name, uid_t owner, int64_t place, uint64_t room,
		     int64_t entry, struct halo_image *out, struct halo_err *err)
{
	__cleanup_free uint8_t *file = NULL;
	__cleanup_fd int fd = -1;
	struct stat st;
	int ret;

	memset(out, 0, sizeof(*out));
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return halo_err__set(err, -errno, "opening the worker's image: %s",
				     strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != owner)
		return bad(err, "not a regular file of the worker's");
	if (st.st_size <= 0 || (uint64_t)st.st_size > HALO_IMAGE_FILE_MAX)
		return bad(err, "empty, or too large");
	ret = read_all(fd, st.st_size, &file, err);
	if (!ret)
		ret = halo_image__parse(file, st.st_size, place, room, entry, out, err);
	return ret;
}

void halo_image__free(struct halo_image *image)
{
	free(image->code);
	image->code = NULL;
}
