// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <stdarg.h>
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <elf.h>

#include "lib/prepared.h"
#include "lib/util.h"

/* A file of nothing but headers and one note. */
struct file {
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	Elf64_Nhdr nh;
	char name[4];
	uint8_t desc[24];
};

static struct file make_file(uint32_t descsz)
{
	struct file f = {
		.eh = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		       .e_type = ET_EXEC,
		       .e_machine = EM_X86_64,
		       .e_version = EV_CURRENT,
		       .e_phoff = offsetof(struct file, ph),
		       .e_ehsize = sizeof(Elf64_Ehdr),
		       .e_phentsize = sizeof(Elf64_Phdr),
		       .e_phnum = 1},
		.ph = {.p_type = PT_NOTE,
		       .p_offset = offsetof(struct file, nh),
		       .p_filesz = sizeof(f) - offsetof(struct file, nh),
		       .p_align = 4},
		.nh = {.n_namesz = 4, .n_descsz = descsz, .n_type = NT_GNU_BUILD_ID},
		.name = "GNU",
		.desc = {0x00, 0x11, 0x22, 0xff},
	};

	return f;
}

static int read_id(const struct file *f, struct halo_buildid *id, struct halo_err *err)
{
	int fd = memfd_create("buildid_test", MFD_CLOEXEC), ret;

	assert_int_equal(write(fd, f, sizeof(*f)), sizeof(*f));
	ret = halo_buildid__read(fd, id, err);
	close(fd);
	return ret;
}

static void test_read(void **state)
{
	struct file f = make_file(4);
	struct halo_buildid id;
	char text[2 * HALO_BUILD_ID_MAX + 1];

	(void)state;
	assert_int_equal(read_id(&f, &id, NULL), 0);
	halo_buildid__format(&id, text);
	assert_string_equal(text, "001122ff");
	f = make_file(HALO_BUILD_ID_MAX);
	assert_int_equal(read_id(&f, &id, NULL), 0);
	assert_int_equal(id.len, HALO_BUILD_ID_MAX);
}

static void assert_none(const struct file *f)
{
	struct halo_buildid id;
	struct halo_err err = {};

	assert_int_equal(read_id(f, &id, &err), -ENODATA);
	assert_int_equal(id.len, 0);
	assert_true(err.what[0] && err.cause[0] && err.remedy[0]);
}

static void test_none(void **state)
{
	struct file f;

	(void)state;
	f = make_file(0);
	assert_none(&f);
	f = make_file(HALO_BUILD_ID_MAX + 1);
	assert_none(&f);
	f = make_file(0xfffffff0);
	assert_none(&f);
	f = make_file(4);
	f.nh.n_type = NT_GNU_ABI_TAG;
	assert_none(&f);
	f = make_file(4);
	f.nh.n_namesz = 0xffffffff;
	assert_none(&f);
	f = make_file(4);
	f.ph.p_offset = ~0ULL - 8;
	assert_none(&f);
	f = make_file(4);
	f.ph.p_filesz = ~0ULL;
	assert_none(&f);
}

static void test_not_elf(void **state)
{
	struct file f = make_file(4);
	struct halo_buildid id;

	(void)state;
	f.eh.e_ident[0] = '#';
	assert_int_equal(read_id(&f, &id, NULL), -ENOEXEC);
	assert_int_equal(halo_buildid__read(-1, &id, NULL), -ENOEXEC);
}

static void test_parse(void **state)
{
	static const char *const bad[] = {
		"",   "0",  "abc",  "0g",
		"g0", " 0", "0x12", "0123456789012345678901234567890123456789ab",
	};
	char text[2 * HALO_BUILD_ID_MAX + 1];
	struct halo_buildid id;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(halo_buildid__parse(bad[i], &id), -EINVAL);
	assert_int_equal(halo_buildid__parse("00fF", &id), 0);
	assert_int_equal(id.len, 2);
	assert_int_equal(id.id[0], 0);
	assert_int_equal(id.id[1], 0xff);
	assert_int_equal(halo_buildid__parse("0123456789abcdef0123456789abcdef01234567", &id), 0);
	halo_buildid__format(&id, text);
	assert_string_equal(text, "0123456789abcdef0123456789abcdef01234567");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_not_elf),
		cmocka_unit_test(test_parse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
