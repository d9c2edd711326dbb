/* SPDX-License-Identifier: BSD-2-Clause */
#include <elf.h>
#include <string.h>
#include <sys/random.h>

#include <halo/prepared.h>

#include "../lib/util.h"
#include "arena_elf.h"
#include "attach.h"

/* What is set aside for each section. */
#define SYMTAB_OFFSET HALO_NAMES_OFFSET
#define SYMTAB_SIZE   (1ULL << 20)
#define STRTAB_OFFSET (SYMTAB_OFFSET + SYMTAB_SIZE)
#define STRTAB_SIZE   (2ULL << 20)
#define FRAMES_OFFSET (STRTAB_OFFSET + STRTAB_SIZE)
#define FRAMES_SIZE   (2ULL << 20)
#define ROWS_OFFSET   (FRAMES_OFFSET + FRAMES_SIZE)
#define ROWS_SIZE     (1ULL << 20)
_Static_assert(ROWS_OFFSET + ROWS_SIZE == HALO_NAMES_OFFSET + HALO_NAMES_SIZE, "all of it");

#define SYMBOLS_MAX  (SYMTAB_SIZE / sizeof(Elf64_Sym))
#define ROWS_HEADER  12 /* bytes before the rows of .eh_frame_hdr */
#define ROWS_MAX     ((ROWS_SIZE - ROWS_HEADER) / sizeof(struct row))
#define NAME_LONGEST 4096

enum {
	S_NULL,
	S_NOTE,
	S_FRAMES_HDR,
	S_FRAMES,
	S_TEXT,
	S_SYMTAB,
	S_STRTAB,
	S_SHSTRTAB,
	S_COUNT
};

static const char section_names[] =
	"\0.note.gnu.build-id\0.eh_frame_hdr\0.eh_frame\0.text\0.symtab\0.strtab\0.shstrtab";

enum {
	P_LOAD,
	P_NOTE,
	P_FRAMES,
	P_STACK,
	P_COUNT
};

/* The build-id is in the first page: the kernel looks no further. */
struct headers {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr[P_COUNT];
	struct {
		Elf64_Nhdr nhdr;
		char name[4];
		uint8_t id[20];
	} note;
	uint32_t pad;
	Elf64_Shdr shdr[S_COUNT];
	char strings[sizeof(section_names)];
};
_Static_assert(sizeof(struct headers) <= HALO_ARENA_HEADER, "the daemon's header follows");

/* Of .eh_frame_hdr; both from its start. */
struct row {
	int32_t begin, entry;
};

int arena_elf__write(int fd, const void *buf, size_t len, uint64_t off)
{
	const char *p = buf;

	while (len) {
		ssize_t n = pwrite(fd, p, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		p += n;
		off += n;
		len -= n;
	}
	return 0;
}

void arena_elf__begin(struct arena_names *names)
{
	*names = (struct arena_names){.symbols = 1, .strings = 1};
	/* Unique is enough: whatever is there otherwise is as good. */
	if (getrandom(names->id, sizeof(names->id), GRND_NONBLOCK) != sizeof(names->id))
		names->edition = (uint32_t)getpid() << 8;
}

bool arena_elf__valid(const struct arena_names *names)
{
	return names->symbols && names->symbols <= SYMBOLS_MAX && names->strings &&
	       names->strings <= STRTAB_SIZE && names->frames <= FRAMES_SIZE - 4 &&
	       names->rows <= ROWS_MAX;
}

static bool is_printable(const char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name <= ' ' || *name == 0x7f)
			return false;
	return true;
}

int arena_elf__add_symbols(int fd, struct arena_names *names, const struct halo_arena_name *list,
			   size_t n)
{
	int ret = 0;

	for (size_t i = 0; i < n && !ret; i++) {
		const size_t len = list[i].name ? strlen(list[i].name) + 1 : 1;
		const Elf64_Sym sym = {
			.st_name = names->strings,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = S_TEXT,
			.st_value = list[i].off,
			.st_size = list[i].size,
		};

		if (len == 1 || len > NAME_LONGEST || !is_printable(list[i].name) ||
		    names->symbols == SYMBOLS_MAX || len > STRTAB_SIZE - names->strings)
			continue;
		ret = arena_elf__write(fd, list[i].name, len, STRTAB_OFFSET + names->strings);
		if (!ret)
			ret = arena_elf__write(fd, &sym, sizeof(sym),
					       SYMTAB_OFFSET + names->symbols * sizeof(sym));
		if (ret)
			break;
		names->strings += len;
		names->symbols++;
	}
	return ret;
}

static uint32_t word(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static void add_to_word(uint8_t *at, int32_t delta)
{
	uint32_t value = word(at) + (uint32_t)delta;

	memcpy(at, &value, sizeof(value));
}

/* 0 past @end, which no length or offset in frame descriptions of an image is. */
static size_t skip_leb(const uint8_t *data, size_t at, size_t end)
{
	while (at < end && data[at] & 0x80)
		at++;
	return at < end ? at + 1 : 0;
}

/* A pointer that is relative to where it is stored, in 4 bytes; indirect or not. */
#define IS_RELATIVE(form) (((form)&0x7f) == 0x1b)

struct forms {
	size_t cie; /* where in the section; what follows is of that one */
	bool known;
	uint8_t code, table; /* of pointers to the function and to its exception table */
	bool has_table;
	size_t personality; /* where its pointer is stored, 0: none */
};

/*
 * What of the CIE at @at (up to @end) has to be known when it moves. Only the augmentations that
 * compilers write.
 */
static bool read_cie(const uint8_t *data, size_t at, size_t end, struct forms *f)
{
	const char *text = (const char *)data + at + 9;
	size_t p = at + 9 + strnlen(text, end - at - 9) + 1;
	uint8_t form;

	*f = (struct forms){.cie = at};
	if (p >= end || text[0] != 'z' || data[at + 8] != 1)
		return false;
	p = skip_leb(data, p, end); /* alignment of code */
	p = p ? skip_leb(data, p, end) : 0;
	p = p ? p + 1 : 0; /* return address */
	p = p ? skip_leb(data, p, end) : 0;
	for (text++; *text && p && p < end; text++) {
		form = *text == 'S' ? 0 : data[p++];
		if (*text == 'R') {
			f->code = form;
		} else if (*text == 'L') {
			f->table = form;
			f->has_table = form != 0xff;
		} else if (*text == 'P') {
			if (!IS_RELATIVE(form) || end - p < 4)
				return false;
			f->personality = p;
			p += 4;
		} else if (*text != 'S') {
			return false;
		}
	}
	f->known = IS_RELATIVE(f->code) && (!f->has_table || IS_RELATIVE(f->table)) && p &&
		   p <= end && !*text;
	return f->known;
}

/* One before @end that has moved already; what is read of it is the same. */
static bool reread_cie(const uint8_t *data, size_t at, size_t end, struct forms *f)
{
	return end - at >= 12 && word(data + at) >= 8 && word(data + at) <= end - at - 4 &&
	       read_cie(data, at, at + 4 + word(data + at), f);
}

/* An FDE moves by @delta bytes, away from what its pointers lead to. */
static bool move_fde(uint8_t *data, size_t at, size_t end, const struct forms *f, int32_t delta)
{
	size_t table = at + 8 + 4 + 4;

	if (table >= end)
		return false;
	add_to_word(data + at + 8, -delta);
	if (!f->has_table)
		return true;
	table = skip_leb(data, table, end);
	if (!table || end - table < 4)
		return false;
	if (word(data + table))
		add_to_word(data + table, -delta);
	return true;
}

/*
 * In @data, a copy of the image: what is at @from moves by @delta. Returns where @count functions'
 * descriptions end, 0 if they have another form.
 */
static size_t move_frames(uint8_t *data, size_t len, size_t from, uint32_t count, int32_t delta)
{
	struct forms f = {0};
	size_t at = from, end, cie;

	while (count) {
		if (len - at < 12 || word(data + at) > len - at - 4 || word(data + at) < 8)
			return 0;
		end = at + 4 + word(data + at);
		if (!word(data + at + 4)) {
			if (!read_cie(data, at, end, &f))
				return 0;
			if (f.personality)
				add_to_word(data + f.personality, -delta);
			at = end;
			continue;
		}
		cie = at + 4 - word(data + at + 4);
		if (cie < from || cie >= at)
			return 0;
		if ((!f.known || f.cie != cie) && !reread_cie(data, cie, at, &f))
			return 0;
		if (!move_fde(data, at, end, &f, delta))
			return 0;
		count--;
		at = end;
	}
	return at;
}

static int add_rows(int fd, struct arena_names *names, const uint8_t *hdr, uint32_t count,
		    int32_t hdr_delta, int32_t frames_delta)
{
	struct row row;
	int ret = 0;

	for (uint32_t i = 0; i < count && names->rows < ROWS_MAX && !ret; i++) {
		memcpy(&row, hdr + ROWS_HEADER + i * sizeof(row), sizeof(row));
		row.begin -= hdr_delta;
		row.entry += frames_delta - hdr_delta;
		ret = arena_elf__write(fd, &row, sizeof(row),
				       ROWS_OFFSET + ROWS_HEADER + names->rows * sizeof(row));
		names->rows += !ret;
	}
	return ret;
}

int arena_elf__add_frames(int fd, struct arena_names *names, uint64_t off, const uint8_t *code,
			  size_t len, uint64_t hdr)
{
	const uint64_t to = FRAMES_OFFSET + names->frames;
	__cleanup_free uint8_t *copy = NULL;
	size_t from, end;
	uint32_t count;
	int ret;

	if (hdr > len || len - hdr < ROWS_HEADER)
		return 0;
	count = word(code + hdr + 8);
	from = hdr + 4 + (int64_t)(int32_t)word(code + hdr + 4);
	if (from >= len || count > (len - hdr - ROWS_HEADER) / sizeof(struct row))
		return 0;
	copy = malloc(len);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, code, len);
	end = move_frames(copy, len, from, count, (int32_t)(to - off - from));
	if (!end || end - from > FRAMES_SIZE - 4 - names->frames)
		return 0;
	ret = arena_elf__write(fd, copy + from, end - from, to);
	if (!ret)
		ret = add_rows(fd, names, code + hdr, count, (int32_t)(ROWS_OFFSET - off - hdr),
			       (int32_t)(to - off - from));
	names->frames += ret ? 0 : end - from;
	return ret;
}

static void fill_segments(struct headers *h, const struct arena_names *names, uint64_t end)
{
	h->phdr[P_LOAD] = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_filesz = end,
		.p_memsz = end,
		.p_align = HALO_PAGE,
	};
	h->phdr[P_NOTE] = (Elf64_Phdr){
		.p_type = PT_NOTE,
		.p_flags = PF_R,
		.p_offset = offsetof(struct headers, note),
		.p_vaddr = offsetof(struct headers, note),
		.p_paddr = offsetof(struct headers, note),
		.p_filesz = sizeof(h->note),
		.p_memsz = sizeof(h->note),
		.p_align = 4,
	};
	h->phdr[P_FRAMES] = (Elf64_Phdr){
		.p_type = PT_GNU_EH_FRAME,
		.p_flags = PF_R,
		.p_offset = ROWS_OFFSET,
		.p_vaddr = ROWS_OFFSET,
		.p_paddr = ROWS_OFFSET,
		.p_filesz = ROWS_HEADER + names->rows * sizeof(struct row),
		.p_memsz = ROWS_HEADER + names->rows * sizeof(struct row),
		.p_align = 4,
	};
	h->phdr[P_STACK] = (Elf64_Phdr){.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W};
}

static void fill_section(struct headers *h, unsigned int i, uint32_t type, uint64_t flags,
			 uint64_t off, uint64_t size)
{
	const char *name = section_names;

	for (unsigned int n = 0; n < i; n++)
		name += strlen(name) + 1;
	h->shdr[i] = (Elf64_Shdr){
		.sh_name = (uint32_t)(name - section_names),
		.sh_type = type,
		.sh_flags = flags,
		.sh_addr = flags & SHF_ALLOC ? off : 0,
		.sh_offset = off,
		.sh_size = size,
		.sh_addralign = type == SHT_STRTAB ? 1 : 4,
	};
}

static void fill_sections(struct headers *h, const struct arena_names *names, uint64_t end)
{
	fill_section(h, S_NOTE, SHT_NOTE, SHF_ALLOC, offsetof(struct headers, note),
		     sizeof(h->note));
	fill_section(h, S_FRAMES_HDR, SHT_PROGBITS, SHF_ALLOC, ROWS_OFFSET,
		     ROWS_HEADER + names->rows * sizeof(struct row));
	fill_section(h, S_FRAMES, SHT_PROGBITS, SHF_ALLOC, FRAMES_OFFSET, names->frames);
	fill_section(h, S_TEXT, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, HALO_ARENA_FIRST,
		     end - HALO_ARENA_FIRST);
	fill_section(h, S_SYMTAB, SHT_SYMTAB, 0, SYMTAB_OFFSET, names->symbols * sizeof(Elf64_Sym));
	fill_section(h, S_STRTAB, SHT_STRTAB, 0, STRTAB_OFFSET, names->strings);
	fill_section(h, S_SHSTRTAB, SHT_STRTAB, 0, offsetof(struct headers, strings),
		     sizeof(h->strings));
	h->shdr[S_SYMTAB].sh_link = S_STRTAB;
	h->shdr[S_SYMTAB].sh_info = 1;
	h->shdr[S_SYMTAB].sh_entsize = sizeof(Elf64_Sym);
	h->shdr[S_SYMTAB].sh_addralign = 8;
	memcpy(h->strings, section_names, sizeof(section_names));
}

int arena_elf__publish(int fd, const struct arena_names *names, uint64_t end)
{
	/* The row's header: version, forms, where .eh_frame is, how many rows follow. */
	const uint32_t rows[] = {0x3b031b01, (uint32_t)(FRAMES_OFFSET - ROWS_OFFSET - 4),
				 names->rows};
	struct headers h = {
		.ehdr =
			{
				.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					    ELFDATA2LSB, EV_CURRENT},
				.e_type = ET_DYN,
				.e_machine = EM_X86_64,
				.e_version = EV_CURRENT,
				.e_phoff = offsetof(struct headers, phdr),
				.e_shoff = offsetof(struct headers, shdr),
				.e_ehsize = sizeof(Elf64_Ehdr),
				.e_phentsize = sizeof(Elf64_Phdr),
				.e_phnum = P_COUNT,
				.e_shentsize = sizeof(Elf64_Shdr),
				.e_shnum = S_COUNT,
				.e_shstrndx = S_SHSTRTAB,
			},
		.note = {.nhdr = {4, sizeof(h.note.id), NT_GNU_BUILD_ID}, .name = "GNU"},
	};
	int ret;

	memcpy(h.note.id, names->id, sizeof(names->id));
	memcpy(h.note.id + sizeof(names->id), &names->edition, sizeof(names->edition));
	fill_segments(&h, names, end);
	fill_sections(&h, names, end);
	ret = arena_elf__write(fd, rows, sizeof(rows), ROWS_OFFSET);
	return ret ? ret : arena_elf__write(fd, &h, sizeof(h), 0);
}
