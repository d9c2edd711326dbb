/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_SELFTESTS_ATTACH_PROGRAM_H
#define HALO_SELFTESTS_ATTACH_PROGRAM_H

/* A store in a folder of its own, and the tables of a program with two slots. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/attach.h"
#include "lib/util.h"

#define SLOTS_BEGIN 0x7000
#define SLOT_FIRST  (SLOTS_BEGIN + HALO_DATA_PAGES * HALO_PAGE)
#define SLOT_SECOND (SLOT_FIRST + 8)
#define SLOTS_END   (SLOT_FIRST + HALO_PAGE)

static struct halo_segment test_segments[] = {
	{.vaddr = 0x1000, .off = 0x1000, .filesz = 0x2000, .memsz = 0x2000, .flags = 5},
	{.vaddr = 0x6000, .off = 0x5000, .filesz = 0x5000, .memsz = 0x6000, .flags = 6},
};

static struct halo_func test_funcs[] = {
	{.name = "first", .addr = 0x1100, .slot = SLOT_FIRST},
	{.name = "plain", .addr = 0x1200},
	{.name = "second", .addr = 0x1300, .slot = SLOT_SECOND},
};

static inline struct halo_prepared test_program(void)
{
	return (struct halo_prepared){
		.pic = true,
		.segments = test_segments,
		.n_segments = ARRAY_SIZE(test_segments),
		.has_stub = true,
		.stub = {.slots_begin = SLOTS_BEGIN, .slots_end = SLOTS_END},
		.funcs = test_funcs,
		.n_funcs = ARRAY_SIZE(test_funcs),
	};
}

static char test_dir[64];

static inline struct halo_store *open_test_store(void)
{
	struct halo_err err = {0};
	struct halo_store *store;

	if (!test_dir[0])
		assert_non_null(mkdtemp(strcpy(test_dir, "/tmp/halo-store-XXXXXX")));
	if (halo_store__open(test_dir, &store, &err))
		fail_msg("%s", err.what);
	return store;
}

static inline void remove_test_store(struct halo_store *store)
{
	halo_store__close(store, true);
	rmdir(test_dir);
	test_dir[0] = '\0';
}

#define skip_unless_root()          \
	do {                        \
		if (geteuid() != 0) \
			skip();     \
	} while (0)

#endif
