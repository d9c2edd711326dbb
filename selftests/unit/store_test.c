/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "attach_program.h"
#include "daemon/arena_elf.h"
#include "daemon/store.h"

#define FIRST HALO_ARENA_FIRST

static const uint8_t hash[32] = {0xab, 1, 2};
static const uint8_t other_hash[32] = {0xcd};

static int reopen(int fd, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, flags | O_CLOEXEC);
}

static void test_given_away_stays_readonly(void **state)
{
	struct halo_store *store;
	void *map;
	int fd;

	(void)state;
	skip_unless_root();
	store = open_test_store();
	fd = halo_store__open_file(store, "file", O_CREAT | O_EXCL, NULL);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, HALO_PAGE), 0);
	close(fd);

	fd = halo_store__open_readonly(store, "file", NULL);
	assert_true(fd >= 0);
	assert_int_equal(reopen(fd, O_RDWR), -1);
	assert_int_equal(errno, EROFS);
	assert_int_equal(reopen(fd, O_WRONLY | O_TRUNC), -1);
	assert_int_equal(errno, EROFS);
	assert_int_equal(fchmod(fd, 0666), -1);
	assert_int_equal(errno, EROFS);
	map = mmap(NULL, HALO_PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	munmap(map, HALO_PAGE);
	map = mmap(NULL, HALO_PAGE, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	assert_int_equal(mprotect(map, HALO_PAGE, PROT_READ | PROT_WRITE), -1);
	assert_int_equal(errno, EACCES);
	munmap(map, HALO_PAGE);
	close(fd);
	remove_test_store(store);
}

static void test_one_daemon_at_a_time(void **state)
{
	struct halo_store *store, *second = NULL;
	struct halo_err err = {0};

	(void)state;
	skip_unless_root();
	store = open_test_store();
	assert_int_equal(halo_store__open(test_dir, &second, &err), -EBUSY);
	assert_string_equal(err.cause, "another halo-bpf daemon runs");
	remove_test_store(store);
}

static void test_refuses_open_folders(void **state)
{
	struct halo_store *store;
	struct halo_err err = {0};

	(void)state;
	skip_unless_root();
	store = open_test_store();
	assert_int_equal(chmod(test_dir, 0755), 0);
	halo_store__close(store, false);
	assert_int_equal(halo_store__open(test_dir, &store, &err), -EPERM);
	assert_int_equal(chmod(test_dir, 0711), 0);
	assert_int_equal(halo_store__open("relative", &store, &err), -EINVAL);
	remove_test_store(open_test_store());
}

static void test_arena_is_append_only_and_adopted(void **state)
{
	struct halo_arena *arena, *other;
	struct halo_store *store;
	uint8_t code[5000], seen[sizeof(code)];
	int fd;

	(void)state;
	skip_unless_root();
	memset(code, 0x90, sizeof(code));
	store = open_test_store();
	assert_int_equal(halo_arena__open(store, hash, &arena, NULL), 0);
	assert_int_equal(halo_arena__next(arena), FIRST);
	assert_int_equal(halo_arena__write(arena, FIRST, code, sizeof(code), 0, NULL), 0);
	assert_int_equal(halo_arena__next(arena), FIRST + 2 * HALO_PAGE);
	assert_int_equal(halo_arena__write(arena, FIRST, code, 1, 0, NULL), -EINVAL);
	assert_int_equal(halo_arena__write(arena, FIRST + 2 * HALO_PAGE - 1, code, 1, 0, NULL),
			 -EINVAL);
	halo_arena__close(arena);
	halo_store__close(store, false);

	store = open_test_store();
	assert_int_equal(halo_arena__open(store, hash, &arena, NULL), 0);
	assert_int_equal(halo_arena__open(store, other_hash, &other, NULL), 0);
	assert_int_equal(halo_arena__next(arena), FIRST + 2 * HALO_PAGE);
	assert_int_equal(halo_arena__next(other), FIRST);
	fd = halo_arena__open_readonly(arena, NULL);
	assert_int_equal(pread(fd, seen, sizeof(seen), FIRST), sizeof(seen));
	assert_memory_equal(seen, code, sizeof(code));
	close(fd);
	halo_arena__close(arena);
	halo_arena__close(other);
	remove_test_store(store);
}

static void test_arena_has_an_end(void **state)
{
	struct halo_arena *arena;
	struct halo_store *store;
	struct halo_err err = {0};

	(void)state;
	skip_unless_root();
	store = open_test_store();
	assert_int_equal(halo_arena__open(store, hash, &arena, NULL), 0);
	assert_int_equal(halo_arena__write(arena, HALO_ARENA_SIZE - 1, "ab", 2, 0, &err), -ENOSPC);
	assert_int_equal(halo_arena__write(arena, UINT64_MAX, "ab", 2, 0, &err), -ENOSPC);
	assert_int_equal(halo_arena__write(arena, FIRST, "a", SIZE_MAX, 0, &err), -ENOSPC);
	assert_int_equal(halo_arena__next(arena), FIRST);
	assert_int_equal(halo_arena__write(arena, HALO_ARENA_SIZE - 1, "a", 1, 0, &err), 0);
	assert_int_equal(halo_arena__next(arena), HALO_ARENA_SIZE);
	assert_int_equal(halo_arena__write(arena, HALO_ARENA_SIZE, "a", 1, 0, &err), -ENOSPC);
	halo_arena__close(arena);
	remove_test_store(store);
}

/* What the stub reads: it outlives the daemon, and goes on where it was. */
static void test_arena_has_an_index(void **state)
{
	static struct halo_index index;
	const uint8_t code[100] = {0xc3};
	struct halo_arena *arena;
	struct halo_store *store;
	int fd;

	(void)state;
	skip_unless_root();
	store = open_test_store();
	assert_int_equal(halo_arena__open(store, hash, &arena, NULL), 0);
	assert_int_equal(halo_arena__write(arena, FIRST, code, sizeof(code), 64, NULL), 0);
	halo_arena__close(arena);
	assert_int_equal(halo_arena__open(store, hash, &arena, NULL), 0);
	assert_int_equal(halo_arena__write(arena, FIRST + 0x3000, code, sizeof(code), 0, NULL), 0);
	fd = halo_arena__open_readonly(arena, NULL);
	assert_int_equal(pread(fd, &index, sizeof(index), HALO_INDEX_OFFSET), sizeof(index));
	assert_int_equal(index.count, 2);
	assert_int_equal(index.entry[0].begin, FIRST);
	assert_int_equal(index.entry[0].frames, FIRST + 64);
	assert_int_equal(index.entry[1].begin, FIRST + 0x3000);
	assert_int_equal(index.entry[1].frames, 0);
	close(fd);
	halo_arena__close(arena);
	remove_test_store(store);
}

/* Frames that lie about where they are, or how long, are left out; the image is published all the same. */
static void test_arena_takes_no_broken_frames(void **state)
{
	struct halo_arena_name names[] = {
		{.off = FIRST + 8, .size = 8, .name = "second"},
		{.off = FIRST, .size = 8, .name = "first", .function = 0x1000},
		{.off = FIRST, .size = HALO_ARENA_SIZE, .name = "too long"},
		{.off = 64, .size = 8, .name = "in the header"},
		{.off = FIRST + 16, .size = 8, .name = "with\nline"},
	};
	static struct halo_origins origins;
	uint8_t code[256 + HALO_FRAMES_SIZE];
	struct halo_arena *arena;
	struct halo_store *store;
	uint64_t off = FIRST;
	int fd;

	(void)state;
	skip_unless_root();
	store = open_test_store();
	assert_int_equal(halo_arena__open(store, hash, &arena, NULL), 0);
	for (size_t i = 0; i < HALO_FRAMES_SIZE; i++)
		for (unsigned int bit = 0; bit < 8; bit++) {
			memset(code, 0x90, sizeof(code));
			halo_frames__leaf(code + 256, 256);
			code[256 + i] ^= 1 << bit;
			assert_int_equal(
				halo_arena__write(arena, off, code, sizeof(code), 256, NULL), 0);
			off = halo_arena__next(arena);
		}
	assert_int_equal(halo_arena__name(arena, names, ARRAY_SIZE(names), NULL), 0);
	fd = halo_arena__open_readonly(arena, NULL);
	assert_int_equal(pread(fd, &origins, sizeof(origins), HALO_ORIGINS_OFFSET),
			 sizeof(origins));
	assert_int_equal(origins.count, 4);
	assert_int_equal(origins.entry[0].begin, FIRST);
	assert_int_equal(origins.entry[0].function, 0x1000);
	assert_int_equal(origins.entry[1].begin, FIRST + 8);
	assert_int_equal(origins.entry[1].function, 0);
	close(fd);
	halo_arena__close(arena);
	remove_test_store(store);
}

static void test_spoilt_arena_is_refused(void **state)
{
	const uint64_t next = HALO_ARENA_SIZE + HALO_PAGE;
	struct halo_arena *arena;
	struct halo_store *store;
	char name[80] = "arena-ab0102";
	int fd;

	(void)state;
	skip_unless_root();
	memset(name + strlen(name), '0', 58);
	store = open_test_store();
	assert_int_equal(halo_arena__open(store, hash, &arena, NULL), 0);
	halo_arena__close(arena);
	fd = halo_store__open_file(store, name, 0, NULL);
	assert_int_equal(pwrite(fd, &next, sizeof(next), HALO_ARENA_HEADER + 16), sizeof(next));
	assert_int_equal(halo_arena__open(store, hash, &arena, NULL), -EBADMSG);
	assert_int_equal(ftruncate(fd, HALO_PAGE), 0);
	assert_int_equal(halo_arena__open(store, hash, &arena, NULL), -EBADMSG);
	close(fd);
	remove_test_store(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_given_away_stays_readonly),
		cmocka_unit_test(test_one_daemon_at_a_time),
		cmocka_unit_test(test_refuses_open_folders),
		cmocka_unit_test(test_arena_is_append_only_and_adopted),
		cmocka_unit_test(test_arena_has_an_end),
		cmocka_unit_test(test_arena_takes_no_broken_frames),
		cmocka_unit_test(test_spoilt_arena_is_refused),
		cmocka_unit_test(test_arena_has_an_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
