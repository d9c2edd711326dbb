// SPDX-License-Identifier: BSD-2-Clause
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include <halo/prepared.h>

#include "daemon/image.h"
#include "lib/util.h"

#define PLACE	  ((int64_t)HALO_ARENA_PIC + 4096)
#define ROOM	  65536
#define CODE_OFF  0x200
#define CODE_SIZE 0x100
#define ENTRY	  (PLACE + 16)
#define FRAMES	  0x80

/* The smallest image that is in order. Sections: none, .text. */
struct file {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr[4];
	Elf64_Shdr shdr[3];
	char pad[CODE_OFF - sizeof(Elf64_Ehdr) - 4 * sizeof(Elf64_Phdr) - 3 * sizeof(Elf64_Shdr)];
	uint8_t code[CODE_SIZE];
};

static struct file good(void)
{
	/* With a table of one row. */
	static const uint8_t frames[20] = {1, 0x1b, 0x03, 0x3b, 0, 0, 0, 0, 1};
	uint64_t vaddr = (uint64_t)PLACE + HALO_LINK_BIAS;
	struct file f = {
		.ehdr =
			{
				.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB,
					    EV_CURRENT},
				.e_type = ET_EXEC,
				.e_machine = EM_X86_64,
				.e_version = EV_CURRENT,
				.e_entry = vaddr + 16,
				.e_phoff = offsetof(struct file, phdr),
				.e_shoff = offsetof(struct file, shdr),
				.e_ehsize = sizeof(Elf64_Ehdr),
				.e_phentsize = sizeof(Elf64_Phdr),
				.e_phnum = 4,
				.e_shentsize = sizeof(Elf64_Shdr),
				.e_shnum = 3,
			},
		.phdr =
			{
				{PT_LOAD, PF_R | PF_X, CODE_OFF, vaddr, vaddr, CODE_SIZE, CODE_SIZE,
				 4096},
				{PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 0, 0, 16},
				{PT_NOTE, PF_R, CODE_OFF, vaddr, vaddr, 16, 16, 4},
				{PT_GNU_EH_FRAME, PF_R, CODE_OFF + FRAMES, vaddr + FRAMES,
				 vaddr + FRAMES, 20, 20, 4},
			},
	};

	f.shdr[1] = (Elf64_Shdr){
		.sh_type = SHT_PROGBITS,
		.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		.sh_addr = vaddr,
		.sh_offset = CODE_OFF,
		.sh_size = CODE_SIZE,
	};
	f.shdr[2] = (Elf64_Shdr){.sh_type = SHT_NOTE, .sh_offset = CODE_OFF, .sh_size = 16};
	for (size_t i = 0; i < CODE_SIZE; i++)
		f.code[i] = i;
	memcpy(f.code + FRAMES, frames, sizeof(frames));
	return f;
}

static int parse(const struct file *f, struct halo_err *err)
{
	struct halo_image image;
	int ret = halo_image__parse(f, sizeof(*f), PLACE, ROOM, ENTRY, &image, err);

	halo_image__free(&image);
	return ret;
}

static void test_good(void **state)
{
	struct file f = good();
	struct halo_image image;
	struct halo_err err = {0};

	(void)state;
	assert_int_equal(halo_image__parse(&f, sizeof(f), PLACE, ROOM, ENTRY, &image, &err), 0);
	assert_int_equal(image.size, CODE_SIZE);
	assert_int_equal(image.frames, FRAMES);
	assert_true(image.place == PLACE);
	assert_memory_equal(image.code, f.code, CODE_SIZE);
	halo_image__free(&image);
}

#define REFUSED(code, change)                            \
	do {                                             \
		struct file f = good();                  \
		struct halo_err err = {0};               \
		change;                                  \
		assert_int_equal(parse(&f, &err), code); \
		assert_true(err.what[0]);                \
	} while (0)

static void test_frames(void **state)
{
	(void)state;
	REFUSED(-EBADMSG, f.phdr[3].p_vaddr -= 2 * FRAMES);
	REFUSED(-EBADMSG, f.phdr[3].p_vaddr -= FRAMES);
	REFUSED(-EBADMSG, f.phdr[3].p_vaddr += CODE_SIZE);
	REFUSED(-EBADMSG, f.phdr[3].p_vaddr += CODE_SIZE - FRAMES - 8);
	REFUSED(-EBADMSG, f.phdr[3].p_vaddr += 2);
	REFUSED(-EBADMSG, f.code[FRAMES] = 2);
	REFUSED(-EBADMSG, f.code[FRAMES + 3] = 0xff);
	REFUSED(-EBADMSG, f.code[FRAMES + 8] = (CODE_SIZE - FRAMES - 12) / 8 + 1);
	REFUSED(-EBADMSG, f.code[FRAMES + 11] = 0xff);
}

static void test_headers(void **state)
{
	(void)state;
	REFUSED(-EBADMSG, f.ehdr.e_ident[0] = 0);
	REFUSED(-EBADMSG, f.ehdr.e_ident[EI_CLASS] = ELFCLASS32);
	REFUSED(-EBADMSG, f.ehdr.e_machine = EM_AARCH64);
	REFUSED(-EBADMSG, f.ehdr.e_type = ET_DYN);
	REFUSED(-EBADMSG, f.ehdr.e_phoff = sizeof(f));
	REFUSED(-EBADMSG, f.ehdr.e_phnum = 0);
	REFUSED(-EBADMSG, f.ehdr.e_shoff = UINT64_MAX - 8);
}

static void test_segments(void **state)
{
	(void)state;
	REFUSED(-EBADMSG, f.phdr[0].p_flags = PF_R | PF_W | PF_X);
	REFUSED(-EBADMSG, f.phdr[0].p_flags = PF_R);
	REFUSED(-EBADMSG, f.phdr[0].p_vaddr += 4096);
	REFUSED(-EBADMSG, f.phdr[0].p_vaddr -= HALO_LINK_BIAS);
	REFUSED(-EBADMSG, f.phdr[0].p_memsz += 1);
	REFUSED(-EBADMSG, f.phdr[0].p_filesz = f.phdr[0].p_memsz = 0);
	REFUSED(-EBADMSG, f.phdr[0].p_offset = UINT64_MAX - 15);
	REFUSED(-EBADMSG, f.phdr[0].p_offset += 1);
	REFUSED(-EBADMSG, f.phdr[0].p_filesz = f.phdr[0].p_memsz = UINT64_MAX);
	REFUSED(-EBADMSG, f.phdr[0].p_type = PT_NOTE);
	REFUSED(-EBADMSG, f.phdr[1] = f.phdr[0]);
	REFUSED(-EBADMSG, f.phdr[1].p_type = PT_INTERP);
	REFUSED(-EBADMSG, f.phdr[1].p_type = PT_DYNAMIC);
}

static void test_sections(void **state)
{
	(void)state;
	REFUSED(-EBADMSG, f.shdr[1].sh_type = SHT_RELA);
	REFUSED(-EBADMSG, f.shdr[1].sh_type = SHT_REL);
	REFUSED(-EBADMSG, f.shdr[1].sh_type = SHT_INIT_ARRAY);
	REFUSED(-EBADMSG, f.shdr[1].sh_flags |= SHF_WRITE);
}

static void test_bounds(void **state)
{
	struct file f = good();
	struct halo_image image;
	const int64_t outside[] = {PLACE - 1, PLACE + CODE_SIZE, INT64_MIN, INT64_MAX, 0};

	(void)state;
	assert_int_equal(
		halo_image__parse(&f, sizeof(f), PLACE, CODE_SIZE - 1, ENTRY, &image, NULL),
		-ENOSPC);
	for (size_t i = 0; i < ARRAY_SIZE(outside); i++)
		assert_int_equal(
			halo_image__parse(&f, sizeof(f), PLACE, ROOM, outside[i], &image, NULL),
			-EBADMSG);
	for (size_t len = 0; len < sizeof(f); len++)
		assert_int_not_equal(halo_image__parse(&f, len, PLACE, ROOM, ENTRY, &image, NULL),
				     0);
}

/* Whatever single byte is changed, the answer is an image of the asked-for place and size, or none. */
static void test_flips(void **state)
{
	(void)state;
	for (size_t at = 0; at < CODE_OFF; at++) {
		for (int value = 0; value < 256; value++) {
			struct file f = good();
			struct halo_image image;

			((uint8_t *)&f)[at] = value;
			if (halo_image__parse(&f, sizeof(f), PLACE, ROOM, ENTRY, &image, NULL))
				continue;
			assert_true(image.place == PLACE);
			assert_true(image.size > 16 && image.size <= ROOM);
			halo_image__free(&image);
		}
	}
}

static void write_file(int dir, const char *name, const void *data, size_t size)
{
	__cleanup_fd int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
}

static int read_file(int dir, const char *name, uid_t owner)
{
	struct halo_image image;
	int ret = halo_image__read(dir, name, owner, PLACE, ROOM, ENTRY, &image, NULL);

	halo_image__free(&image);
	return ret;
}

/* A worker could leave anything under the name. */
static void test_files(void **state)
{
	char path[] = "/tmp/halo-image.XXXXXX";
	struct file f = good();
	__cleanup_fd int dir = -1;

	(void)state;
	assert_non_null(mkdtemp(path));
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	write_file(dir, "good", &f, sizeof(f));
	write_file(dir, "empty", &f, 0);
	assert_int_equal(symlinkat("good", dir, "link"), 0);
	assert_int_equal(mkfifoat(dir, "fifo", 0600), 0);
	assert_int_equal(mkdirat(dir, "dir", 0700), 0);

	assert_int_equal(read_file(dir, "good", getuid()), 0);
	assert_int_equal(read_file(dir, "good", getuid() + 1), -EBADMSG);
	assert_int_equal(read_file(dir, "empty", getuid()), -EBADMSG);
	assert_int_equal(read_file(dir, "link", getuid()), -ELOOP);
	assert_int_equal(read_file(dir, "fifo", getuid()), -EBADMSG);
	assert_int_equal(read_file(dir, "dir", getuid()), -EBADMSG);
	assert_int_equal(read_file(dir, "none", getuid()), -ENOENT);

	for (size_t i = 0; i < 4; i++)
		unlinkat(dir, (const char *[]){"good", "empty", "link", "fifo"}[i], 0);
	unlinkat(dir, "dir", AT_REMOVEDIR);
	rmdir(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),	 cmocka_unit_test(test_headers),
		cmocka_unit_test(test_segments), cmocka_unit_test(test_sections),
		cmocka_unit_test(test_bounds),	 cmocka_unit_test(test_flips),
		cmocka_unit_test(test_files),	 cmocka_unit_test(test_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
