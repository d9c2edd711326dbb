// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>

#include "prepared_internal.h"
#include "util.h"

bool halo_buildid__find(const uint8_t *notes, size_t size, uint64_t align, struct halo_buildid *id)
{
	size_t unit = align == 8 ? 8 : 4, off = 0, desc, next;
	Elf64_Nhdr nh;

	while (size - off >= sizeof(nh)) {
		memcpy(&nh, notes + off, sizeof(nh));
		/* Both sizes have 32 bits, so these sums don't overflow. */
		desc = off + ALIGN_UP(sizeof(nh) + (size_t)nh.n_namesz, unit);
		next = ALIGN_UP(desc + (size_t)nh.n_descsz, unit);
		if (desc + nh.n_descsz > size)
			return false;
		if (nh.n_type == NT_GNU_BUILD_ID && nh.n_namesz == sizeof("GNU") &&
		    memcmp(notes + off + sizeof(nh), "GNU", sizeof("GNU")) == 0) {
			if (nh.n_descsz == 0 || nh.n_descsz > HALO_BUILD_ID_MAX)
				return false;
			id->len = nh.n_descsz;
			memcpy(id->id, notes + desc, nh.n_descsz);
			return true;
		}
		if (next >= size)
			return false;
		off = next;
	}
	return false;
}

static bool read_exactly(int fd, void *buf, size_t size, uint64_t off)
{
	return off <= INT64_MAX && pread(fd, buf, size, off) == (ssize_t)size;
}

static bool read_note_segment(int fd, const Elf64_Phdr *ph, struct halo_buildid *id)
{
	uint8_t notes[HALO_NOTES_MAX];
	size_t size = ph->p_filesz;

	return ph->p_type == PT_NOTE && size <= sizeof(notes) &&
	       read_exactly(fd, notes, size, ph->p_offset) &&
	       halo_buildid__find(notes, size, ph->p_align, id);
}

static int read_id(int fd, struct halo_buildid *id)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	size_t i;

	if (!read_exactly(fd, &eh, sizeof(eh), 0) || memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_ident[EI_DATA] != ELFDATA2LSB ||
	    eh.e_phentsize != sizeof(ph) || eh.e_phnum > HALO_PHDRS_MAX)
		return -ENODATA;
	for (i = 0; i < eh.e_phnum; i++) {
		if (eh.e_phoff > INT64_MAX / 2 ||
		    !read_exactly(fd, &ph, sizeof(ph), eh.e_phoff + i * sizeof(ph)))
			return -ENODATA;
		if (read_note_segment(fd, &ph, id))
			return 0;
	}
	return -ENODATA;
}

/*
 * Every file that is executed is looked at, so this reads what it needs and no more: libelf would
 * make room for as many sections as the file claims to have.
 */
int halo_buildid__read(int fd, struct halo_buildid *id, struct halo_err *err)
{
	int ret;

	memset(id, 0, sizeof(*id));
	ret = read_id(fd, id);
	if (ret == -ENOEXEC)
		return halo_err__set(err, ret, "not an ELF file");
	if (ret) {
		halo_err__set(err, ret, "the file has no build-id");
		halo_err__cause(err, "it was linked without --build-id, or the note was removed");
		halo_err__remedy(err, "build the program with halo-cc, which adds one");
	}
	return ret;
}

void halo_buildid__format(const struct halo_buildid *id, char buf[2 * HALO_BUILD_ID_MAX + 1])
{
	uint32_t i;

	buf[0] = '\0';
	for (i = 0; i < id->len && i < HALO_BUILD_ID_MAX; i++)
		snprintf(buf + 2 * i, 3, "%02x", id->id[i]);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int halo_buildid__parse(const char *text, struct halo_buildid *id)
{
	size_t len = strlen(text), i;
	int high, low;

	memset(id, 0, sizeof(*id));
	if (len < 2 || len > 2 * HALO_BUILD_ID_MAX || len % 2)
		return -EINVAL;
	for (i = 0; i < len / 2; i++) {
		high = hex_digit(text[2 * i]);
		low = hex_digit(text[2 * i + 1]);
		if (high < 0 || low < 0)
			return -EINVAL;
		id->id[i] = high << 4 | low;
	}
	id->len = len / 2;
	return 0;
}
