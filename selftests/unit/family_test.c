/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>

#include "attach_program.h"

#define BIAS  0x555500000000ULL
#define COUNT (BIAS + (uint64_t)HALO_ARENA_PIC + HALO_ARENA_SIZE)

static const uint8_t hash[32] = {1};

struct fixture {
	struct halo_prepared program;
	struct halo_store *store;
	struct halo_arena *arena;
	struct halo_family *family;
	struct halo_offer offer;
	int fds[HALO_MAP_COUNT];
	const uint64_t *slots; /* as a program sees them */
	uint64_t *counters;
};

static void open_family(struct fixture *f)
{
	const struct halo_layout layout = {.bias = BIAS};
	struct halo_err err = {0};

	f->program = test_program();
	f->store = open_test_store();
	assert_int_equal(halo_arena__open(f->store, hash, &f->arena, &err), 0);
	if (halo_family__create(f->store, 7, &f->program, &layout, &f->family, &err) ||
	    halo_family__offer(f->family, f->arena, &f->offer, f->fds, &err))
		fail_msg("%s", err.what);
	f->slots = mmap(NULL, f->offer.map[HALO_MAP_SLOTS].len, PROT_READ, MAP_SHARED,
			f->fds[HALO_MAP_SLOTS], 0);
	f->counters = mmap(NULL, HALO_COUNTERS_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
			   f->fds[HALO_MAP_COUNTERS], 0);
	assert_ptr_not_equal(f->slots, MAP_FAILED);
	assert_ptr_not_equal(f->counters, MAP_FAILED);
}

static void close_family(struct fixture *f)
{
	int i;

	munmap((void *)f->slots, f->offer.map[HALO_MAP_SLOTS].len);
	munmap(f->counters, HALO_COUNTERS_SIZE);
	for (i = 0; i < HALO_MAP_COUNT; i++)
		close(f->fds[i]);
	halo_family__free(f->family);
	halo_arena__close(f->arena);
	remove_test_store(f->store);
}

static uint64_t seen(const struct fixture *f, uint64_t slot)
{
	return __atomic_load_n(&f->slots[(slot - SLOTS_BEGIN) / 8], __ATOMIC_RELAXED);
}

static void test_offer(void **state)
{
	const struct halo_mapping *map;
	struct fixture f;

	(void)state;
	skip_unless_root();
	open_family(&f);
	map = f.offer.map;
	assert_int_equal(f.offer.magic, HALO_ATTACH_MAGIC);
	assert_int_equal(map[HALO_MAP_SLOTS].addr, BIAS + SLOTS_BEGIN);
	assert_int_equal(map[HALO_MAP_SLOTS].len, SLOTS_END - SLOTS_BEGIN);
	assert_int_equal(map[HALO_MAP_ARENA].addr, BIAS - (1UL << 30));
	assert_int_equal(map[HALO_MAP_ARENA].prot, PROT_READ | PROT_EXEC);
	assert_int_equal(map[HALO_MAP_COUNTERS].addr, COUNT);
	close_family(&f);
}

static void test_slots(void **state)
{
	struct fixture f;

	(void)state;
	skip_unless_root();
	open_family(&f);
	assert_int_equal(seen(&f, SLOT_FIRST), BIAS + 0x1100 + HALO_ENTRY_SIZE);
	assert_int_equal(seen(&f, SLOT_SECOND), BIAS + 0x1300 + HALO_ENTRY_SIZE);
	assert_int_equal(seen(&f, SLOTS_BEGIN + 8 * HALO_DATA_ARM0), COUNT);
	assert_int_equal(seen(&f, SLOTS_BEGIN + 8 * (HALO_DATA_ARM0 + HALO_ARMS - 1)),
			 COUNT + (HALO_ARMS - 1) * HALO_ARM_SIZE);

	halo_family__set_slot(f.family, SLOT_FIRST, HALO_ARENA_PIC + 0x1000);
	assert_int_equal(seen(&f, SLOT_FIRST), BIAS - (1UL << 30) + 0x1000);
	assert_int_equal(halo_family__get_slot(f.family, SLOT_FIRST), HALO_ARENA_PIC + 0x1000);
	assert_int_equal(seen(&f, SLOT_SECOND), BIAS + 0x1300 + HALO_ENTRY_SIZE);
	halo_family__reset_slot(f.family, &test_funcs[0]);
	assert_int_equal(seen(&f, SLOT_FIRST), BIAS + 0x1100 + HALO_ENTRY_SIZE);
	halo_family__set_data(f.family, 200, 0x1234);
	assert_int_equal(seen(&f, SLOTS_BEGIN + 8 * 200), 0x1234);
	close_family(&f);
}

static void test_bounds(void **state)
{
	static const uint64_t bad[] = {0,	  SLOTS_BEGIN,	 SLOT_FIRST - 8, SLOT_FIRST + 4,
				       SLOTS_END, SLOTS_END - 4, UINT64_MAX - 7};
	struct fixture f;
	uint8_t before[SLOTS_END - SLOTS_BEGIN];
	size_t i;

	(void)state;
	skip_unless_root();
	open_family(&f);
	memcpy(before, f.slots, sizeof(before));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		halo_family__set_slot(f.family, bad[i], 1);
		assert_int_equal(halo_family__get_slot(f.family, bad[i]), 0);
	}
	halo_family__set_data(f.family, HALO_DATA_PAGES * HALO_PAGE / 8, 1);
	assert_memory_equal(before, f.slots, sizeof(before));
	assert_int_equal(halo_family__entries(f.family, HALO_ARMS), 0);
	close_family(&f);
}

static void test_entries(void **state)
{
	struct fixture f;

	(void)state;
	skip_unless_root();
	open_family(&f);
	f.counters[HALO_ARM_SIZE / 8] = 5;			     /* arm 1, CPU 0 */
	f.counters[(HALO_ARM_SIZE + 255 * HALO_ARM_STRIDE) / 8] = 7; /* arm 1, CPU 255 */
	assert_int_equal(halo_family__entries(f.family, 0), 0);
	assert_int_equal(halo_family__entries(f.family, 1), 12);
	halo_family__clear_entries(f.family, 1);
	assert_int_equal(halo_family__entries(f.family, 1), 0);
	f.counters[HALO_ARM_SIZE / 8]++;
	assert_int_equal(halo_family__entries(f.family, 1), 1);
	close_family(&f);
}

/* A program must not be able to kill the daemon by cutting short what both have mapped. */
static void test_sizes_are_fixed(void **state)
{
	struct fixture f;

	(void)state;
	skip_unless_root();
	open_family(&f);
	assert_int_equal(ftruncate(f.fds[HALO_MAP_COUNTERS], 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(f.fds[HALO_MAP_SLOTS], 0), -1);
	assert_int_equal(ftruncate(f.fds[HALO_MAP_ARENA], 0), -1);
	assert_int_equal(mprotect((void *)f.slots, HALO_PAGE, PROT_READ | PROT_WRITE), -1);
	close_family(&f);
}

/* A store without room must cost neither the daemon nor a program its life at some later access. */
static void test_full_store(void **state)
{
	const struct halo_layout layout = {.bias = BIAS};
	struct halo_prepared program = test_program();
	struct halo_family *family[8] = {NULL};
	struct halo_store *store;
	struct halo_err err = {0};
	uint32_t n = 0;
	int ret = 0;

	(void)state;
	skip_unless_root();
	store = open_test_store();
	assert_int_equal(mount(NULL, test_dir, NULL, MS_REMOUNT | MS_NOSUID | MS_NODEV, "size=32k"),
			 0);
	for (; !ret && n < ARRAY_SIZE(family); n++)
		ret = halo_family__create(store, n + 1, &program, &layout, &family[n], &err);
	assert_int_equal(ret, -ENOSPC);
	while (n-- > 0)
		halo_family__free(family[n]);
	remove_test_store(store);
}

static void refused(struct halo_prepared *p)
{
	const struct halo_layout layout = {.bias = BIAS};
	struct halo_store *store = open_test_store();
	struct halo_family *family = NULL;

	assert_int_equal(halo_family__create(store, 1, p, &layout, &family, NULL), -EBADMSG);
	remove_test_store(store);
}

static void test_bad_tables(void **state)
{
	struct halo_func func = {.name = "f", .addr = 0x1100, .slot = SLOT_FIRST - 8};
	struct halo_prepared p;

	(void)state;
	skip_unless_root();
	p = test_program();
	p.stub.slots_end = p.stub.slots_begin;
	refused(&p);
	p = test_program();
	p.stub.slots_begin += 8;
	refused(&p);
	p = test_program();
	p.stub.slots_end = 0x10000; /* past the segment */
	refused(&p);
	p = test_program();
	p.stub.slots_end = p.stub.slots_begin + HALO_DATA_PAGES * HALO_PAGE;
	refused(&p);
	p = test_program();
	p.funcs = &func;
	p.n_funcs = 1;
	refused(&p);
	func.slot = SLOTS_END;
	refused(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_offer),		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_bounds),		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_sizes_are_fixed), cmocka_unit_test(test_bad_tables),
		cmocka_unit_test(test_full_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
