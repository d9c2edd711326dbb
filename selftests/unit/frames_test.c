// SPDX-License-Identifier: BSD-2-Clause
/* Frame descriptions of counting entries, as the program's unwinder reads them. */
#include <execinfo.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "daemon/attach.h"

#define EH_FRAME 20 /* behind the header */

extern void __register_frame(void *eh_frame);
extern void __deregister_frame(void *eh_frame);

static void *trace[64];
static int depth;

static void on_trap(int sig)
{
	(void)sig;
	depth = backtrace(trace, 64);
}

static __attribute__((noinline)) void *call(void (*code)(void))
{
	code();
	return __builtin_return_address(0);
}

/* A trap in the middle of the code: its caller, and the caller of that, are found. */
static void test_unwound(void **state)
{
	static const uint8_t leaf[16] = {0x90, 0xcc, 0x90, 0xc3}; /* nop, int3, nop, ret */
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
	bool found = false;
	void *caller;
	int i;

	(void)state;
	assert_true(page != MAP_FAILED);
	memcpy(page, leaf, sizeof(leaf));
	halo_frames__leaf(page + sizeof(leaf), sizeof(leaf));
	assert_int_equal(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
	backtrace(trace, 1); /* loads the unwinder */
	signal(SIGTRAP, on_trap);
	__register_frame(page + sizeof(leaf) + EH_FRAME);
	caller = call((void (*)(void))page);
	__deregister_frame(page + sizeof(leaf) + EH_FRAME);
	for (i = 0; i < depth; i++)
		found |= trace[i] == caller;
	assert_true(found);
	munmap(page, 4096);
}

static int32_t at(const uint8_t *buf, size_t off)
{
	int32_t value;

	memcpy(&value, buf + off, sizeof(value));
	return value;
}

/* The table leads to the description that covers the code, and the pointer to all descriptions. */
static void test_header(void **state)
{
	uint8_t buf[HALO_FRAMES_SIZE];
	int32_t row;

	(void)state;
	halo_frames__leaf(buf, 128);
	assert_memory_equal(buf, "\x01\x1b\x03\x3b", 4);
	assert_int_equal(4 + at(buf, 4), EH_FRAME);
	assert_int_equal(at(buf, 8), 1);
	assert_int_equal(at(buf, 12), -128);
	row = at(buf, 16);
	assert_in_range(row, EH_FRAME + 4, sizeof(buf) - 16);
	assert_int_equal(row + 4 - at(buf, row + 4), EH_FRAME);
	assert_int_equal(row + 8 + at(buf, row + 8), -128);
	assert_int_equal(at(buf, row + 12), 128);
	assert_int_equal(at(buf, row + 4 + at(buf, row)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unwound),
		cmocka_unit_test(test_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
