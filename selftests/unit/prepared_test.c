// SPDX-License-Identifier: BSD-2-Clause
#include <elf.h>
#include <fcntl.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <zstd.h>

#include "../fuzz/prepared_walk.h"
#include "lib/util.h"
#include "prepared_program.h"

#define RAW_SIZE 70000

static char dir[] = "/tmp/halo-prepared.XXXXXX";

static void write_file(const char *name, const void *data, size_t size)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

/* The number of the program that this command makes, which is run the first time only. */
static int made_by(const char *cmd)
{
	static char *known[64];
	char line[640];
	int n;

	for (n = 0; n < (int)ARRAY_SIZE(known) && known[n]; n++)
		if (strcmp(known[n], cmd) == 0)
			return n;
	assert_true(n < (int)ARRAY_SIZE(known));
	known[n] = strdup(cmd);
	assert_non_null(known[n]);
	snprintf(line, sizeof(line), "%s -o prog%d", cmd, n);
	assert_int_equal(system(line), 0);
	return n;
}

/* A descriptor of the program, linked with @flags; @slot and @stub are expressions. */
static int build(const char *flags, const char *second_id, const char *slot, int reason,
		 const char *stub)
{
	char cmd[512], path[128];
	int fd;

	snprintf(cmd, sizeof(cmd),
		 "cd %s && sed -e 's/SECOND_ID/%s/; s/SLOT/%s/; s/REASON/%d/; s/STUB/%s/' prog.s "
		 "> this.s && as this.s -o this.o && gcc -Wl,--build-id=sha1 %s this.o",
		 dir, second_id, slot, reason, stub, flags);
	snprintf(path, sizeof(path), "%s/prog%d", dir, made_by(cmd));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static int build_good(const char *flags)
{
	return build(flags, "0x22", "slot_work", 0, "stub");
}

static struct halo_prepared *open_good(const char *flags)
{
	__cleanup_fd int fd = build_good(flags);
	struct halo_prepared *p = NULL;
	struct halo_err err = {};

	assert_int_equal(walk_prepared(fd), 0);
	if (halo_prepared__open(fd, &p, &err))
		fail_msg("%s", err.what);
	return p;
}

static void test_functions(void **state)
{
	struct halo_prepared *p = open_good("-pie");
	const struct halo_func *f;
	size_t i;

	(void)state;
	assert_int_equal(p->n_funcs, 5);
	f = halo_prepared__func(p, -1, "work");
	assert_non_null(f);
	assert_int_equal(f->slot, p->stub.slots_begin + 8192);
	assert_int_equal(f->reason, HALO_REDIRECTABLE);
	assert_int_equal(f->size, HALO_ENTRY_SIZE + 7);
	assert_ptr_equal(halo_prepared__func_at(p, f->addr), f);
	assert_ptr_equal(halo_prepared__func_at(p, f->addr + f->size - 1), f);
	assert_null(halo_prepared__func_at(p, f->addr + f->size));
	assert_null(halo_prepared__func_at(p, p->funcs[0].addr - 1));
	assert_ptr_equal(halo_prepared__func(p, 0, "work"), f);
	assert_null(halo_prepared__func(p, 1, "work"));
	assert_null(halo_prepared__func(p, -1, "gone"));
	assert_null(halo_prepared__func(p, -1, "nothing"));

	f = halo_prepared__func(p, 0, "guarded");
	assert_int_equal(f->flags, HALO_FUNC_IBT);
	assert_int_equal(f->slot, p->stub.slots_begin + 8192 + 8);

	/* One name in two units. */
	assert_null(halo_prepared__func(p, -1, "twin"));
	assert_int_equal(halo_prepared__func(p, 1, "twin")->addr -
				 halo_prepared__func(p, 0, "twin")->addr,
			 16);
	for (i = 1; i < p->n_funcs; i++)
		assert_true(p->funcs[i - 1].addr < p->funcs[i].addr);
	halo_prepared__free(p);
}

static void test_variables(void **state)
{
	struct halo_prepared *p = open_good("-pie");
	const struct halo_var *v;

	(void)state;
	assert_int_equal(p->n_vars, 3);
	assert_null(halo_prepared__var(p, -1, "state"));
	v = halo_prepared__var(p, 0, "state");
	assert_non_null(v);
	assert_int_equal(v->addr, halo_prepared__symbol(p, "state1")->addr);
	v = halo_prepared__var(p, 1, "state");
	assert_int_equal(v->addr, halo_prepared__symbol(p, "state2")->addr);
	v = halo_prepared__var(p, 0, "mine");
	assert_int_equal(v->addr, 8);
	assert_int_equal(p->tls_size, 16);
	halo_prepared__free(p);
}

static void test_units(void **state)
{
	struct halo_prepared *p = open_good("-pie");
	uint8_t *bc;
	size_t i;

	(void)state;
	assert_int_equal(p->n_units, 2);
	assert_string_equal(p->units[0].name, "one.c");
	assert_string_equal(p->units[1].name, "two.c");
	assert_int_equal(p->units[1].id, 0x22);
	assert_false(p->units[0].ambiguous);
	assert_int_equal(halo_unit__bitcode(&p->units[1], &bc, NULL), 0);
	for (i = 0; i < RAW_SIZE; i++)
		assert_int_equal(bc[i], i * i % 251);
	free(bc);

	p->units[0].raw_size++;
	assert_int_equal(halo_unit__bitcode(&p->units[0], &bc, NULL), -EBADMSG);
	p->units[0].raw_size = HALO_BITCODE_MAX;
	assert_int_equal(halo_unit__bitcode(&p->units[0], &bc, NULL), -EBADMSG);
	p->units[1].bc_size--;
	assert_int_equal(halo_unit__bitcode(&p->units[1], &bc, NULL), -EBADMSG);
	halo_prepared__free(p);
}

static void test_same_unit_twice(void **state)
{
	__cleanup_fd int fd = build("-pie", "0x11", "slot_work", 0, "stub");
	struct halo_prepared *p;

	(void)state;
	assert_int_equal(halo_prepared__open(fd, &p, NULL), 0);
	assert_true(p->units[0].ambiguous);
	assert_true(p->units[1].ambiguous);
	halo_prepared__free(p);
}

static void test_symbols(void **state)
{
	struct halo_prepared *p = open_good("-pie -Wl,-z,lazy");
	const struct halo_symbol *s;

	(void)state;
	assert_true(p->pic);
	assert_false(p->is_static || p->is_library || p->bind_now);
	s = halo_prepared__symbol(p, "puts");
	assert_non_null(s);
	assert_true(s->undefined && s->got && s->got_is_lazy);
	s = halo_prepared__symbol(p, "environ");
	assert_true(s->undefined && s->got && !s->got_is_lazy);
	s = halo_prepared__symbol(p, "main");
	assert_true(!s->undefined && s->type == STT_FUNC && s->bind == STB_GLOBAL);
	assert_int_equal(s->addr, halo_prepared__func(p, -1, "main")->addr);
	assert_null(halo_prepared__symbol(p, "no such"));
	halo_prepared__free(p);

	p = open_good("-pie -Wl,-z,now");
	s = halo_prepared__symbol(p, "puts");
	assert_true(p->bind_now && s->got && !s->got_is_lazy);
	halo_prepared__free(p);
}

static void test_kinds(void **state)
{
	struct halo_prepared *p = open_good("-no-pie");

	(void)state;
	assert_false(p->pic || p->is_static || p->is_library);
	assert_int_equal(halo_prepared__arena(p), HALO_ARENA_FIXED);
	halo_prepared__free(p);

	p = open_good("-static");
	assert_true(p->is_static);
	assert_false(halo_prepared__symbol(p, "puts")->undefined);
	halo_prepared__free(p);

	p = open_good("-static-pie");
	assert_true(p->is_static && p->pic);
	assert_false(p->is_library);
	halo_prepared__free(p);
}

static void test_stripped(void **state)
{
	struct halo_prepared *whole = open_good("-pie"), *p = open_good("-pie -s");
	const struct halo_func *f = halo_prepared__func(p, -1, "work");

	(void)state;
	assert_int_equal(p->n_funcs, 5);
	assert_null(halo_prepared__symbol(p, "work"));
	assert_non_null(halo_prepared__symbol(p, "puts"));
	/* Sizes reach up to the next function. */
	assert_int_equal(f->size, 32);
	assert_true(halo_prepared__func(whole, -1, "work")->size < 32);
	halo_prepared__free(whole);
	halo_prepared__free(p);
}

static void test_offsets(void **state)
{
	struct halo_prepared *p = open_good("-pie");
	uint64_t vaddr = halo_prepared__func(p, -1, "work")->addr, off, back;
	static const uint8_t jmp[] = {0xff, 0x25};

	(void)state;
	assert_true(halo_prepared__vaddr_to_off(p, vaddr, &off));
	assert_memory_equal(p->map + off, jmp, sizeof(jmp));
	assert_true(halo_prepared__off_to_vaddr(p, off, &back));
	assert_int_equal(back, vaddr);
	assert_false(halo_prepared__vaddr_to_off(p, 1ULL << 46, &off));
	assert_false(halo_prepared__off_to_vaddr(p, p->map_size, &vaddr));
	halo_prepared__free(p);
}

static void test_hash(void **state)
{
	struct halo_prepared *p = open_good("-pie"), *same = open_good("-pie"),
			     *other = open_good("-pie -s");
	uint8_t a[32], b[32], c[32];

	(void)state;
	assert_int_equal(halo_prepared__hash(p, a, NULL), 0);
	assert_int_equal(halo_prepared__hash(same, b, NULL), 0);
	assert_int_equal(halo_prepared__hash(other, c, NULL), 0);
	assert_memory_equal(a, b, 32);
	assert_memory_not_equal(a, c, 32);
	halo_prepared__free(p);
	halo_prepared__free(same);
	halo_prepared__free(other);
}

static void assert_refused(int fd, int code, const char *what)
{
	struct halo_prepared *p;
	struct halo_err err = {};

	assert_int_equal(halo_prepared__open(fd, &p, &err), code);
	assert_int_equal(err.code, code);
	if (!strstr(err.what, what))
		fail_msg("\"%s\" lacks \"%s\"", err.what, what);
	assert_true(err.remedy[0] || code == -ENOEXEC);
	close(fd);
}

static void test_refused(void **state)
{
	(void)state;
	assert_refused(build("-pie", "0x22", "slot_guarded", 0, "stub"), -EBADMSG, "jump through");
	assert_refused(build("-pie", "0x22", "slot_work+4", 0, "stub"), -EBADMSG, "not aligned");
	assert_refused(build("-pie", "0x22", "slots_begin", 0, "stub"), -EBADMSG,
		       "among the slots");
	assert_refused(build("-pie", "0x22", "slots_end", 0, "stub"), -EBADMSG, "among the slots");
	assert_refused(build("-pie", "0x22", "slot_work", 2, "stub"), -EBADMSG, "should not have");
	assert_refused(build("-pie", "0x22", "0", 0, "stub"), -EBADMSG, "no reason");
	assert_refused(build("-pie", "0x22", "slot_work", 0, "main"), -EBADMSG, "attach code");
	assert_refused(build("-pie", "0x22", "slot_work", 0, "text"), -EBADMSG, "attach code");
	assert_refused(build_good("-r"), -ENOEXEC, "neither");
}

static void test_other_files(void **state)
{
	int fd = open("/bin/true", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_refused(fd, -ENODATA, "no bitcode");
	assert_refused(open(dir, O_RDONLY | O_CLOEXEC), -ENOEXEC, "not an ELF");
	fd = memfd_create("empty", MFD_CLOEXEC);
	assert_refused(fd, -ENOEXEC, "not an ELF");
	fd = memfd_create("zeros", MFD_CLOEXEC);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_refused(fd, -ENOEXEC, "not an x86-64");
	fd = memfd_create("large", MFD_CLOEXEC);
	assert_int_equal(ftruncate(fd, HALO_FILE_MAX + 1), 0);
	assert_int_equal(halo_prepared__open(fd, NULL, NULL), -EFBIG);
	close(fd);
}

/* Write @value into the field at @off of the first row of section @name. */
static void patch(int fd, const char *name, size_t off, uint64_t value, size_t size)
{
	struct halo_prepared *p;
	const uint8_t *at;
	size_t i;

	assert_int_equal(halo_prepared__open(fd, &p, NULL), 0);
	for (i = 0; i < p->n_sections && strcmp(p->sections[i].name, name) != 0; i++)
		;
	assert_true(i < p->n_sections);
	at = p->sections[i].data + off;
	assert_int_equal(pwrite(fd, &value, size, at - p->map), size);
	halo_prepared__free(p);
}

#define FIELD(type, field) offsetof(type, field), sizeof(((type *)0)->field)

static void test_fields(void **state)
{
	static const struct {
		const char *section;
		size_t off, size;
		uint64_t value;
		const char *what;
	} cases[] = {
		{HALO_SEC_UNIT, FIELD(struct halo_unit_row, magic), 1, "magic"},
		{HALO_SEC_UNIT, FIELD(struct halo_unit_row, version), HALO_FORMAT_VERSION + 1,
		 "version 3"},
		{HALO_SEC_UNIT, FIELD(struct halo_unit_row, llvm), HALO_LLVM_MAJOR + 1, "LLVM"},
		{HALO_SEC_UNIT, FIELD(struct halo_unit_row, name), 1 << 20, "name"},
		{HALO_SEC_UNIT, FIELD(struct halo_unit_row, bc), 1 << 20, "outside of .halo.bc"},
		{HALO_SEC_UNIT, FIELD(struct halo_unit_row, bc_size), 1 << 20,
		 "outside of .halo.bc"},
		{HALO_SEC_UNIT, FIELD(struct halo_unit_row, bc_size), -1ULL, "outside of .halo.bc"},
		{HALO_SEC_UNIT, FIELD(struct halo_unit_row, raw_size), HALO_BITCODE_MAX + 1,
		 "claims"},
		{HALO_SEC_UNIT, FIELD(struct halo_unit_row, id), 0x33, "unknown unit"},
		{HALO_SEC_FUNC, FIELD(struct halo_func_row, addr), 1 << 20, "executable code"},
		{HALO_SEC_FUNC, FIELD(struct halo_func_row, addr), -1ULL, "executable code"},
		{HALO_SEC_FUNC, FIELD(struct halo_func_row, name), -1U, "name"},
		{HALO_SEC_VAR, FIELD(struct halo_var_row, addr), -8ULL, "outside of the program"},
		{HALO_SEC_VAR, FIELD(struct halo_var_row, size), -1ULL, "outside of the program"},
		{HALO_SEC_VAR, FIELD(struct halo_var_row, flags), HALO_VAR_TLS,
		 "outside of the program"},
		{HALO_SEC_STUB, FIELD(struct halo_stub_row, magic), 1, "magic"},
		{HALO_SEC_STUB, FIELD(struct halo_stub_row, version), HALO_FORMAT_VERSION + 1,
		 "version 3"},
		{HALO_SEC_STUB, FIELD(struct halo_stub_row, slots_begin), 4096, "pages"},
		{HALO_SEC_STUB, FIELD(struct halo_stub_row, slots_end), -4096ULL, "pages"},
		{HALO_SEC_STUB, FIELD(struct halo_stub_row, scratch), 4096, "scratch"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		__cleanup_fd int fd = build_good("-pie"), copy = memfd_create("x", MFD_CLOEXEC);
		struct stat st;

		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(sendfile(copy, fd, NULL, st.st_size), st.st_size);
		patch(copy, cases[i].section, cases[i].off, cases[i].value, cases[i].size);
		assert_refused(take_fd(copy), -EBADMSG, cases[i].what);
	}
}

static void append(int fd, const void *data, size_t size)
{
	assert_int_equal(write(fd, data, size), size);
}

/*
 * A hundred thousand symbols that share one name of a megabyte: in bounds, and yet sorting them
 * would take minutes.
 */
static void test_shared_name(void **state)
{
	enum {
		SYMBOLS = 100000,
		NAME = 1 << 20
	};
	__cleanup_fd int fd = build_good("-pie"), copy = memfd_create("shared", MFD_CLOEXEC);
	Elf64_Sym sym = {
		.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1};
	char *name = calloc(1, NAME + 2);
	Elf64_Shdr *sh;
	uint8_t *data;
	struct stat st;
	Elf64_Ehdr eh;
	size_t i;

	(void)state;
	assert_int_equal(fstat(fd, &st), 0);
	data = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(data, MAP_FAILED);
	memcpy(&eh, data, sizeof(eh));
	sh = (Elf64_Shdr *)(data + eh.e_shoff);
	for (i = 0; i < eh.e_shnum && sh[i].sh_type != SHT_SYMTAB; i++)
		;
	assert_true(i < eh.e_shnum);
	sym.st_value = eh.e_entry;
	sh[sh[i].sh_link].sh_offset = st.st_size;
	sh[sh[i].sh_link].sh_size = NAME + 2;
	sh[i].sh_offset = st.st_size + NAME + 2;
	sh[i].sh_size = SYMBOLS * sizeof(sym);

	memset(name + 1, 'x', NAME);
	append(copy, data, st.st_size);
	append(copy, name, NAME + 2);
	for (i = 0; i < SYMBOLS; i++)
		append(copy, &sym, sizeof(sym));
	assert_int_equal(walk_prepared(copy), -EBADMSG);
	munmap(data, st.st_size);
	free(name);
}

/* No damage may crash the reader, or make it break its promises (walk_prepared aborts then). */
static void test_damaged(void **state)
{
	static const uint8_t masks[] = {0x01, 0x80, 0xff};
	__cleanup_fd int fd = build_good("-pie"), copy = memfd_create("damaged", MFD_CLOEXEC);
	size_t refused = 0, i, m, step = 1;
	struct stat st;
	uint8_t *data;
	uint8_t byte;

	(void)state;
	assert_int_equal(fstat(fd, &st), 0);
	data = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(data, MAP_FAILED);
	assert_int_equal(write(copy, data, st.st_size), st.st_size);
	assert_int_equal(walk_prepared(copy), 0);

	for (i = 0; i < (size_t)st.st_size; i += step) {
		/* Zeros are padding, or numbers of which every eighth byte shows the kind. */
		step = data[i] || i < 1024 ? 1 : 7;
		for (m = 0; m < ARRAY_SIZE(masks); m++) {
			byte = data[i] ^ masks[m];
			assert_int_equal(pwrite(copy, &byte, 1, i), 1);
			refused += walk_prepared(copy) != 0;
		}
		assert_int_equal(pwrite(copy, &data[i], 1, i), 1);
	}
	assert_true(refused > 500);
	assert_int_equal(walk_prepared(copy), 0);

	for (i = st.st_size; i > 0; i -= i > 97 ? 97 : i) {
		assert_int_equal(ftruncate(copy, i), 0);
		if (i < (size_t)st.st_size)
			assert_true(walk_prepared(copy) < 0);
	}
	munmap(data, st.st_size);
}

static int setup(void **state)
{
	static uint8_t raw[RAW_SIZE], bc[RAW_SIZE * 2];
	size_t i, n;

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	for (i = 0; i < RAW_SIZE; i++)
		raw[i] = i * i % 251;
	n = ZSTD_compress(bc, sizeof(bc), raw, sizeof(raw), 19);
	if (ZSTD_isError(n))
		return -1;
	write_file("unit.zst", bc, n);
	write_file("prog.s", prepared_program, strlen(prepared_program));
	return 0;
}

static int teardown(void **state)
{
	char cmd[64];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),   cmocka_unit_test(test_variables),
		cmocka_unit_test(test_units),	    cmocka_unit_test(test_same_unit_twice),
		cmocka_unit_test(test_symbols),	    cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_stripped),    cmocka_unit_test(test_offsets),
		cmocka_unit_test(test_hash),	    cmocka_unit_test(test_refused),
		cmocka_unit_test(test_other_files), cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_shared_name), cmocka_unit_test(test_fields),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
