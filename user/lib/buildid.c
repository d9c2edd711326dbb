// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <stdio.h>

#include "prepared_internal.h"
#include "util.h"

/* Segments of notes are a few hundred bytes; larger ones aren't searched. */
#define NOTES_MAX (64UL << 10)

static bool find_note(Elf_Data *data, struct halo_buildid *id)
{
	size_t off = 0, name, desc;
	GElf_Nhdr nh;

	while ((off = gelf_getnote(data, off, &nh, &name, &desc)) > 0) {
		if (nh.n_type != NT_GNU_BUILD_ID || nh.n_namesz != sizeof("GNU") ||
		    memcmp((char *)data->d_buf + name, "GNU", sizeof("GNU")) != 0)
			continue;
		if (nh.n_descsz == 0 || nh.n_descsz > HALO_BUILD_ID_MAX)
			return false;
		id->len = nh.n_descsz;
		memcpy(id->id, (char *)data->d_buf + desc, nh.n_descsz);
		return true;
	}
	return false;
}

int halo_buildid__from_elf(Elf *elf, struct halo_buildid *id)
{
	Elf_Data *data;
	GElf_Phdr ph;
	size_t i, n;

	memset(id, 0, sizeof(*id));
	if (elf_getphdrnum(elf, &n))
		return -ENODATA;
	for (i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, i, &ph) || ph.p_type != PT_NOTE || ph.p_filesz > NOTES_MAX)
			continue;
		data = elf_getdata_rawchunk(elf, ph.p_offset, ph.p_filesz,
					    ph.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		if (data && data->d_buf && find_note(data, id))
			return 0;
	}
	return -ENODATA;
}

int halo_buildid__read(int fd, struct halo_buildid *id, struct halo_err *err)
{
	int ret = -ENOEXEC;
	Elf *elf;

	memset(id, 0, sizeof(*id));
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		ret = halo_buildid__from_elf(elf, id);
	elf_end(elf);

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
